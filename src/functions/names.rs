//! The names of all functions that the reference has: a recipe that calls one which is not built here is told
//! so, rather than that it does not exist.

/// Whether the reference has a function of this simple name.
pub fn is_known_to_reference(name: &str) -> bool {
    REFERENCE.binary_search(&name).is_ok()
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
}
