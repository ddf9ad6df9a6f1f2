//! Names of functions that nbrs has not: those of the reference that it refuses, with the reason, and those
//! that people look for under another name.

/// Whether the reference has a function of this simple name.
#[cfg(test)]
pub(super) fn is_known_to_reference(name: &str) -> bool {
    REFERENCE.binary_search(&name).is_ok()
}

/// The function that does what people look for under this name.
pub fn synonym(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "fixedwidth" | "leftpad" | "padleft" | "padded" | "padzeros" | "zeropad" | "zerofill" => "ZeroPadded",
        "date" | "datetime" | "isodate" => "BsonDate",
        "oid" | "mongoid" => "ObjectId",
        "decimal" | "decimal128" | "numberdecimal" => "ToDecimal128",
        "document" | "object" | "subdocument" => "Doc",
        "point" | "geojson" | "geojsonpoint" => "GeoPoint",
        "embedding" | "floatvector" => "Vector",
        "uuid" | "randomuuid" => "ToHashedUUID",
        "zipfian" => "YcsbZipfian",
        "randomstring" => "AlphaNumericString",
        _ => return None,
    })
}

/// Why a function of the reference is not part of nbrs and will not be; None for all others.
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

/// The names of all functions of the reference, sorted.
#[cfg(test)]
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
    fn every_function_of_the_reference_is_built_or_refused_with_its_reason() {
        for name in REFERENCE {
            let is_built = crate::functions::find(name).is_some();
            assert_ne!(is_built, why_refused(name).is_some(), "{name} is built or refused with a reason");
        }
        assert!(
            why_refused("Token").is_some() && why_refused("Hash").is_none() && why_refused("Tok").is_none()
        );
    }

    #[test]
    fn synonyms_are_of_functions_that_exist_for_names_that_do_not() {
        for (name, meant) in
            [("FixedWidth", "ZeroPadded"), ("ISODate", "BsonDate"), ("Zipfian", "YcsbZipfian")]
        {
            assert_eq!(synonym(name), Some(meant));
            assert!(crate::functions::find(meant).is_some() && crate::functions::find(name).is_none());
        }
        assert_eq!(synonym("Hash"), None);
    }
}
