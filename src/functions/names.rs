//! The names of all functions that the reference has: a recipe that calls one which is not built here is told
//! so, rather than that it does not exist.

/// Whether the reference has a function of this simple name.
pub fn is_known_to_reference(name: &str) -> bool {
    REFERENCE.binary_search(&name).is_ok()
}

/// Why a function of the reference is not part of nbrs and will not be; None for one that is not built yet, or
/// that the reference has not.
pub fn why_refused(name: &str) -> Option<&'static str> {
    Some(match name {
        "HdfFileToFloatArray"
        | "HdfFileToFloatList"
        | "HdfFileToIntArray"
        | "HdfFileToIntList"
        | "HdfFileToLongArray"
        | "HdfFileToLongList" => {
            "it reads HDF5 files, which nbrs has no reader for: `HashedFloatVectors` makes vectors"
        }
        "FVecReader" | "IVecReader" => {
            "it reads fvec and ivec files, which nbrs has no reader for: `HashedFloatVectors` makes vectors"
        }
        "ToIntegerList" | "ToLongList" => {
            "only readers of HDF5 and ivec files, which nbrs has not, yield what it takes"
        }
        "ToMD5ByteBuffer" => "NoSQLBench withdrew it: `DigestToByteBuffer('MD5')` gives what it gave",
        "Token" => "it logs in to a server over HTTP, which has no place in the data of an op",
        "Combiner" => "no recipe can write the class that it takes: `DoubleCombiner` makes vectors",
        "DoubleCache" | "DoubleArrayCache" => {
            "no function yields the sequence that it takes: `DoubleVectors` is one that is cached"
        }
        "SignalPID" => "it tells the number of a Java process, which nbrs is not",
        "Murmur3DivToLong" | "Murmur3DivToString" => {
            "its values depend on all calls before it on a thread, so that no run repeats another: `Hash` does"
        }
        "CqlDurationFunctions"
        | "CqlVector"
        | "NormalizeCqlVector"
        | "ToCqlDuration"
        | "ToCqlDurationNanos"
        | "ToCqlType"
        | "ToCqlVector"
        | "EpochMillisToCqlLocalDate"
        | "EpochMillisToJavaLocalDate"
        | "EpochMillisToJavaLocalDateTime"
        | "LongToLocalDateDays"
        | "SnappyComp"
        | "TokenMapFileCycle"
        | "TokenMapFileNextCycle"
        | "TokenMapFileNextToken"
        | "TokenMapFileToken"
        | "ToTimeUUIDMax"
        | "ToTimeUUIDMin" => "it belongs to Cassandra's driver, and its values to Cassandra's types",
        "DateRangeDuring"
        | "DateRangeFunc"
        | "DateRangeOnOrAfter"
        | "DateRangeOnOrBefore"
        | "DateRangeParser"
        | "Distance"
        | "LineString"
        | "Point"
        | "Polygon"
        | "PolygonOnGrid" => "it makes a value of DataStax Enterprise, which MongoDB has not",
        _ => return None,
    })
}

/// Sorted.
#[rustfmt::skip]
static REFERENCE: &[&str] = &[
    "Add", "AddCycleRange", "AddHashRange", "AlphaNumericString", "Beta", "Binomial", "ByteBufferSizedHashed",
    "ByteBufferToHex", "CSVFrequencySampler", "CSVSampler", "Cauchy", "CharBufImage", "CharBufferExtract",
    "ChiSquared", "CircleVectors", "Cities", "CitiesByDensity", "CitiesByPopulation", "Clamp", "Clear",
    "CoinFunc", "Combinations", "Combiner", "ConstantContinuous", "Counties", "CountiesByDensity",
    "CountiesByPopulation", "CountryCodes", "CountryNames", "CqlDurationFunctions", "CqlVector",
    "CurrentEpochMillis", "CurrentTimeMillis", "CycleRange", "DateRangeDuring", "DateRangeFunc",
    "DateRangeOnOrAfter", "DateRangeOnOrBefore", "DateRangeParser", "DateTimeParser", "DecimalFormat",
    "DelimFrequencySampler", "DigestToByteBuffer", "DirectoryLines", "Discard", "Distance", "Div",
    "DivideToLongToString", "DoubleArrayCache", "DoubleCache", "DoubleCombiner", "DoubleToFloat",
    "DoubleVectorPadLeft", "DoubleVectorPadRight", "DoubleVectorPrefix", "DoubleVectorSuffix",
    "DoubleVectors", "ElapsedNanoTime", "Enumerated", "EpochMillisToCqlLocalDate",
    "EpochMillisToJavaLocalDate", "EpochMillisToJavaLocalDateTime", "EscapeJSON", "Exponential", "Expr", "F",
    "FVecReader", "FieldExtractor", "FirstLines", "FirstNames", "FixedValue", "FixedValues",
    "FloatVectorPadLeft", "FloatVectorPadRight", "FloatVectorPrefix", "FloatVectorSuffix", "FloatVectors",
    "Flow", "Format", "FullHash", "FullNames", "Gamma", "Geometric", "Gumbel", "HTMLEntityDecode",
    "HTMLEntityEncode", "Hash", "HashInterval", "HashRange", "HashRangeScaled", "HashedByteBufferExtract",
    "HashedDoubleVectors", "HashedFileExtractToString", "HashedFloatVectors", "HashedLineToInt",
    "HashedLineToString", "HashedLineToStringList", "HashedLineToStringSet", "HashedLineToStringStringMap",
    "HashedLinesToKeyValueString", "HashedLoremExtractToString", "HashedRangeToLongList",
    "HashedRangedToNonuniformDouble", "HashedRangedToNonuniformFloat", "HashedToByteBuffer",
    "HdfFileToFloatArray", "HdfFileToFloatList", "HdfFileToIntArray", "HdfFileToIntList",
    "HdfFileToLongArray", "HdfFileToLongList", "Hypergeometric", "IVecReader", "Identity", "IntFlow",
    "Interpolate", "Join", "JoinTemplate", "Laplace", "LastNames", "Levy", "LineString", "List",
    "ListFunctions", "ListHashed", "ListSized", "ListSizedHashed", "ListSizedStepped", "ListStepped",
    "ListTemplate", "Load", "LoadDouble", "LoadElement", "LoadFloat", "LoadInteger", "LoadLong", "LoadString",
    "LogNormal", "Logistic", "LongFlow", "LongStats", "LongToByte", "LongToLocalDateDays", "LongToShort",
    "LongToString", "Map", "MapFunctions", "MapHashed", "MapSized", "MapSizedHashed", "MapSizedStepped",
    "MapStepped", "MatchFunc", "MatchRegex", "Max", "Min", "MirrorToString", "Mod", "ModuloCSVLineToString",
    "ModuloLineOfFile", "ModuloLineToString", "ModuloToBigDecimal", "ModuloToBigInt", "ModuloToBoolean",
    "ModuloToByte", "ModuloToInteger", "ModuloToLong", "ModuloToShort", "Mul", "Murmur3DivToLong",
    "Murmur3DivToString", "Nakagami", "Normal", "NormalizeCqlVector", "NormalizeDoubleListVector",
    "NormalizeDoubleVector", "NormalizeFloatListVector", "NormalizeFloatVector", "NormalizeListVector",
    "NullIfCloseTo", "NullIfEmpty", "NullIfEq", "NullIfGe", "NullIfGt", "NullIfLe", "NullIfLt",
    "NullIfNullOrEmpty", "NullIfWithin", "NullOrLoad", "NullOrPass", "NumberNameToString", "Pareto",
    "PartitionLongs", "Pascal", "Point", "Poisson", "Polygon", "PolygonOnGrid", "Prefix", "RepeatList",
    "ReplaceAll", "ReplaceRegex", "Save", "SaveDouble", "SaveFloat", "SaveInteger", "SaveLong", "SaveString",
    "Set", "SetFunctions", "SetHashed", "SetSized", "SetSizedHashed", "SetSizedStepped", "SetStepped", "Show",
    "Shuffle", "SignalPID", "SignedHash", "Sin", "SnappyComp", "StartingEpochMillis", "StateCodes",
    "StateCodesByDensity", "StateCodesByPopulation", "StateNames", "StateNamesByDensity",
    "StateNamesByPopulation", "StaticStringMapper", "StringDateWrapper", "StringFlow", "StringList",
    "StringMap", "StringSet", "Stringify", "Suffix", "SumFunctions", "Swap", "T", "Template", "ThreadNum",
    "ThreadNumToInteger", "ThreadNumToLong", "TimeZones", "TimeZonesByDensity", "TimeZonesByPopulation",
    "ToBase64", "ToBase64String", "ToBigDecimal", "ToBigInt", "ToBoolean", "ToByte", "ToByteBuffer",
    "ToCharBuffer", "ToCqlDuration", "ToCqlDurationNanos", "ToCqlType", "ToCqlVector", "ToDate", "ToDateTime",
    "ToDouble", "ToDoubleList", "ToEpochTimeUUID", "ToFinestTimeUUID", "ToFloat", "ToFloatList",
    "ToFloatVector", "ToHashedUUID", "ToHexString", "ToInetAddress", "ToInt", "ToIntegerList", "ToJSON",
    "ToJSONPretty", "ToJavaInstant", "ToJodaDateTime", "ToJodaInstant", "ToLocalTime", "ToLong",
    "ToLongFunction", "ToLongList", "ToLongUnaryOperator", "ToMD5ByteBuffer", "ToMillisAtStartOfDay",
    "ToMillisAtStartOfHour", "ToMillisAtStartOfMinute", "ToMillisAtStartOfMonth",
    "ToMillisAtStartOfNamedWeekDay", "ToMillisAtStartOfNextDay", "ToMillisAtStartOfNextNamedWeekDay",
    "ToMillisAtStartOfSecond", "ToMillisAtStartOfYear", "ToShort", "ToString", "ToTimeUUIDMax",
    "ToTimeUUIDMin", "ToUUID", "Token", "TokenMapFileCycle", "TokenMapFileNextCycle", "TokenMapFileNextToken",
    "TokenMapFileToken", "TriangleWave", "Triangular", "TriangularStep", "Trim", "TypeOf", "URLDecode",
    "URLEncode", "Uniform", "UniformVectorSizedStepped", "Unset", "UnsetIfCloseTo", "UnsetIfEmpty",
    "UnsetIfEq", "UnsetIfGe", "UnsetIfGt", "UnsetIfLe", "UnsetIfLt", "UnsetIfNullOrEmpty", "UnsetIfStringEq",
    "UnsetIfStringNe", "UnsetIfWithin", "UnsetOrLoad", "UnsetOrPass", "Weibull", "WeightedFuncs",
    "WeightedLongs", "WeightedStrings", "WeightedStringsFromCSV", "ZipCodes", "ZipCodesByDensity",
    "ZipCodesByPopulation", "Zipf",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(REFERENCE.is_sorted());
        assert!(is_known_to_reference("Zipf") && !is_known_to_reference("Zipfian"));
    }

    #[test]
    fn only_functions_of_the_reference_that_are_not_built_are_refused_for_good() {
        for name in REFERENCE {
            if why_refused(name).is_some() {
                assert!(crate::functions::find(name).is_none(), "{name} is built");
            }
        }
        assert!(
            why_refused("Token").is_some() && why_refused("Hash").is_none() && why_refused("Tok").is_none()
        );
    }
}
