//! Failed commands, with MongoDB's codes and names: [`CommandError`] is what a client reads.

use super::key::Unindexable;
use super::raw::Writer;

/// A code and its name, as MongoDB lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub i32, pub &'static str);

macro_rules! codes {
    ($($constant:ident = $number:literal $name:literal;)*) => {
        $(pub const $constant: Code = Code($number, $name);)*
    };
}

pub mod code {
    //! The codes that this server answers with.
    use super::Code;
    codes! {
        INTERNAL_ERROR = 1 "InternalError";
        BAD_VALUE = 2 "BadValue";
        FAILED_TO_PARSE = 9 "FailedToParse";
        UNAUTHORIZED = 13 "Unauthorized";
        TYPE_MISMATCH = 14 "TypeMismatch";
        ILLEGAL_OPERATION = 20 "IllegalOperation";
        INVALID_BSON = 22 "InvalidBSON";
        NAMESPACE_NOT_FOUND = 26 "NamespaceNotFound";
        PATH_NOT_VIABLE = 28 "PathNotViable";
        CONFLICTING_UPDATE_OPERATORS = 40 "ConflictingUpdateOperators";
        CURSOR_NOT_FOUND = 43 "CursorNotFound";
        NAMESPACE_EXISTS = 48 "NamespaceExists";
        MAX_TIME_MS_EXPIRED = 50 "MaxTimeMSExpired";
        DOLLAR_PREFIXED_FIELD_NAME = 52 "DollarPrefixedFieldName";
        INVALID_ID_FIELD = 53 "InvalidIdField";
        EMPTY_FIELD_NAME = 56 "EmptyFieldName";
        COMMAND_NOT_FOUND = 59 "CommandNotFound";
        IMMUTABLE_FIELD = 66 "ImmutableField";
        CANNOT_CREATE_INDEX = 67 "CannotCreateIndex";
        INVALID_NAMESPACE = 73 "InvalidNamespace";
        INDEX_OPTIONS_CONFLICT = 85 "IndexOptionsConflict";
        INDEX_KEY_SPECS_CONFLICT = 86 "IndexKeySpecsConflict";
        DOCUMENT_VALIDATION_FAILURE = 121 "DocumentValidationFailure";
        INVALID_PIPELINE_OPERATOR = 168 "InvalidPipelineOperator";
        CANNOT_INDEX_PARALLEL_ARRAYS = 171 "CannotIndexParallelArrays";
        INVALID_INDEX_SPECIFICATION_OPTION = 197 "InvalidIndexSpecificationOption";
        NOT_IMPLEMENTED = 238 "NotImplemented";
        EXCEEDED_MEMORY_LIMIT = 292 "QueryExceededMemoryLimitNoDiskUseAllowed";
        UNSUPPORTED_OPCODE = 352 "UnsupportedOpQueryCommand";
        DUPLICATE_FIELD = 40413 "Location40413";
        API_VERSION_ERROR = 322 "APIVersionError";
        API_STRICT_ERROR = 323 "APIStrictError";
        OBJECT_TOO_LARGE = 10334 "BSONObjectTooLarge";
        CANNOT_BACKFILL_ARRAY = 157 "CannotBackfillArray";
        INVALID_LENGTH = 16 "InvalidLength";
        DUPLICATE_KEY = 11000 "DuplicateKey";
        KEY_TOO_LONG = 17280 "KeyTooLong";
        GROUP_ID_MISSING = 15955 "Location15955";
        SORT_EMPTY = 15976 "Location15976";
        SKIP_ARGUMENT = 5107200 "Location5107200";
        LIMIT_ARGUMENT = 5107201 "Location5107201";
        COUNT_FIELD = 40156 "Location40156";
        GROUP_FIELD_NAME = 40235 "Location40235";
        GROUP_ACCUMULATOR = 40234 "Location40234";
        FIELD_PATH = 16872 "Location16872";
        UNKNOWN_ACCUMULATOR = 15952 "Location15952";
        INTERRUPTED_AT_SHUTDOWN = 11600 "InterruptedAtShutdown";
        PATH_COLLISION = 31249 "Location31249";
        PROJECTION_MIX = 31254 "Location31254";
        PROJECTION_MIX_IN = 31253 "Location31253";
        STAGE_SPECIFICATION = 40323 "Location40323";
        DISTINCT_TOO_BIG = 17217 "Location17217";
        UNKNOWN_STAGE = 40324 "Location40324";
        MISSING_FIELD = 40414 "IDLFailedToParse";
        UNKNOWN_FIELD = 40415 "IDLUnknownField";
        NEGATIVE = 51024 "Location51024";
    }
}

/// Why a command, or one operation of a write command, failed.
#[derive(Debug)]
pub struct CommandError {
    pub code: Code,
    pub message: String,
    /// Further fields of a write error (`keyPattern`, `errInfo`…): a document to take them from.
    pub details: Option<Vec<u8>>,
}

impl CommandError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        CommandError { code, message: message.into(), details: None }
    }

    pub fn with_details(mut self, details: Vec<u8>) -> Self {
        self.details = Some(details);
        self
    }

    /// What MongoDB has and this server has not.
    pub fn not_implemented(what: impl std::fmt::Display) -> Self {
        Self::new(code::NOT_IMPLEMENTED, format!("{what} is not implemented by the embedded server of nbrs"))
    }

    /// A field of the wrong type.
    pub fn wrong_type(field: &str, actual: &str, expected: &str) -> Self {
        Self::new(
            code::TYPE_MISMATCH,
            format!("BSON field '{field}' is the wrong type '{actual}', expected type '{expected}'"),
        )
    }

    pub fn unknown_field(command: &str, field: &str) -> Self {
        Self::new(code::UNKNOWN_FIELD, format!("BSON field '{command}.{field}' is an unknown field."))
    }

    pub fn missing_field(command: &str, field: &str) -> Self {
        Self::new(
            code::MISSING_FIELD,
            format!("BSON field '{command}.{field}' is missing but a required field"),
        )
    }

    /// Writes the fields of a failed command's reply.
    pub fn write_to(&self, reply: &mut Writer<'_>) {
        reply
            .f64("ok", 0.0)
            .str("errmsg", &self.message)
            .i32("code", self.code.0)
            .str("codeName", self.code.1);
    }
}

impl From<fjall::Error> for CommandError {
    fn from(error: fjall::Error) -> Self {
        CommandError::new(code::INTERNAL_ERROR, format!("the store failed: {error}"))
    }
}

impl From<Unindexable> for CommandError {
    fn from(Unindexable(what): Unindexable) -> Self {
        CommandError::not_implemented(format_args!("{what} as `_id` or in an indexed field"))
    }
}
