//! Collection validators: `$jsonSchema` with `bsonType`, `required` and `properties`.

use super::error::{CommandError, code};
use super::raw::{self, Value, Writer, kind};

/// A compiled `$jsonSchema`.
#[derive(Debug, Default)]
pub struct Schema {
    /// Types that the value may have; empty: any.
    types: Vec<TypeName>,
    required: Vec<String>,
    properties: Vec<(String, Schema)>,
    /// The keywords as they were given, for the details of an error.
    given: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypeName {
    /// Any of the four number types.
    Number,
    Is(u8),
}

impl TypeName {
    fn parse(name: &str) -> Option<TypeName> {
        Some(TypeName::Is(match name {
            "number" => return Some(TypeName::Number),
            "double" => kind::DOUBLE,
            "string" => kind::STRING,
            "object" => kind::DOCUMENT,
            "array" => kind::ARRAY,
            "binData" => kind::BINARY,
            "undefined" => kind::UNDEFINED,
            "objectId" => kind::OBJECT_ID,
            "bool" => kind::BOOL,
            "date" => kind::DATE,
            "null" => kind::NULL,
            "regex" => kind::REGEX,
            "dbPointer" => kind::DB_POINTER,
            "javascript" => kind::CODE,
            "symbol" => kind::SYMBOL,
            "javascriptWithScope" => kind::CODE_WITH_SCOPE,
            "int" => kind::INT32,
            "timestamp" => kind::TIMESTAMP,
            "long" => kind::INT64,
            "decimal" => kind::DECIMAL128,
            "minKey" => kind::MIN_KEY,
            "maxKey" => kind::MAX_KEY,
            _ => return None,
        }))
    }

    fn fits(self, value: Value<'_>) -> bool {
        match self {
            TypeName::Number => value.is_number(),
            TypeName::Is(kind) => value.kind == kind,
        }
    }
}

impl Schema {
    /// Compiles the `validator` of a `create` command; `{}` is none.
    ///
    /// # Errors
    /// Anything but one `$jsonSchema` with the keywords that this server has.
    pub fn from_validator(validator: &[u8]) -> Result<Option<Schema>, CommandError> {
        let mut schema = None;
        for element in raw::elements(validator) {
            match (element.name_str(), element.value.as_document()) {
                ("$jsonSchema", Some(document)) => schema = Some(Schema::parse(document)?),
                ("$jsonSchema", None) => {
                    return Err(CommandError::new(code::TYPE_MISMATCH, "$jsonSchema must be an object"));
                }
                (other, _) => {
                    return Err(CommandError::not_implemented(format_args!(
                        "a validator other than $jsonSchema (here `{other}`)"
                    )));
                }
            }
        }
        Ok(schema)
    }

    fn parse(document: &[u8]) -> Result<Schema, CommandError> {
        let mut schema = Schema { given: document.to_vec(), ..Schema::default() };
        for element in raw::elements(document) {
            let (name, value) = (element.name_str(), element.value);
            match name {
                "bsonType" => schema.types = parse_types(value)?,
                "required" => schema.required = parse_required(value)?,
                "properties" => {
                    let properties = value.as_document().ok_or_else(|| wrong(name, "an object"))?;
                    for property in raw::elements(properties) {
                        let inner = property.value.as_document().ok_or_else(|| {
                            wrong(&format!("properties.{}", property.name_str()), "an object")
                        })?;
                        schema.properties.push((property.name_str().to_owned(), Schema::parse(inner)?));
                    }
                }
                // Texts for people: without effect by definition.
                "title" | "description" => {}
                other if KEYWORDS.contains(&other) => {
                    return Err(CommandError::not_implemented(format_args!(
                        "the $jsonSchema keyword `{other}` (bsonType, required and properties are)"
                    )));
                }
                other => {
                    return Err(CommandError::new(
                        code::FAILED_TO_PARSE,
                        format!("Unknown $jsonSchema keyword: {other}"),
                    ));
                }
            }
        }
        Ok(schema)
    }

    /// `None` if the document fits, else the `details` of MongoDB's error.
    pub fn explain(&self, document: &[u8]) -> Option<Vec<u8>> {
        let value = Value { kind: kind::DOCUMENT, bytes: document };
        if self.fits(value) {
            return None;
        }
        Some(raw::document(|details| {
            details.str("operatorName", "$jsonSchema").array("schemaRulesNotSatisfied", |rules| {
                self.explain_rules(value, rules);
            });
        }))
    }

    fn fits(&self, value: Value<'_>) -> bool {
        if !self.types.is_empty() && !self.types.iter().any(|name| name.fits(value)) {
            return false;
        }
        // The keywords for objects say nothing about other types.
        let Some(document) = value.as_document() else { return true };
        self.required.iter().all(|name| raw::get(document, name.as_bytes()).is_some())
            && self.properties.iter().all(|(name, schema)| {
                raw::get(document, name.as_bytes()).is_none_or(|value| schema.fits(value))
            })
    }

    fn explain_rules(&self, value: Value<'_>, rules: &mut Writer<'_>) {
        let mut count = 0;
        let mut next = || {
            count += 1;
            (count - 1).to_string()
        };
        if !self.types.is_empty() && !self.types.iter().any(|name| name.fits(value)) {
            rules.document(&next(), |rule| {
                rule.str("operatorName", "bsonType").document("specifiedAs", |w| {
                    if let Some(types) = raw::get(&self.given, b"bsonType") {
                        w.value("bsonType", types);
                    }
                });
                rule.str("reason", "type did not match");
                if value.bytes.len() <= 256 {
                    rule.value("consideredValue", value);
                }
                rule.str("consideredType", value.type_name());
            });
        }
        let Some(document) = value.as_document() else { return };
        let missing: Vec<_> =
            self.required.iter().filter(|name| raw::get(document, name.as_bytes()).is_none()).collect();
        if !missing.is_empty() {
            rules.document(&next(), |rule| {
                rule.str("operatorName", "required").document("specifiedAs", |w| {
                    if let Some(required) = raw::get(&self.given, b"required") {
                        w.value("required", required);
                    }
                });
                rule.array("missingProperties", |w| {
                    for (i, name) in missing.iter().enumerate() {
                        w.str(&i.to_string(), name);
                    }
                });
            });
        }
        let unfit: Vec<_> = self
            .properties
            .iter()
            .filter_map(|(name, schema)| {
                let value = raw::get(document, name.as_bytes())?;
                (!schema.fits(value)).then_some((name, schema, value))
            })
            .collect();
        if !unfit.is_empty() {
            rules.document(&next(), |rule| {
                rule.str("operatorName", "properties").array("propertiesNotSatisfied", |w| {
                    for (i, (name, schema, value)) in unfit.iter().enumerate() {
                        w.document(&i.to_string(), |property| {
                            property
                                .str("propertyName", name)
                                .array("details", |details| schema.explain_rules(*value, details));
                        });
                    }
                });
            });
        }
    }
}

/// Keywords that MongoDB has and this server has not.
const KEYWORDS: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "dependencies",
    "encrypt",
    "encryptMetadata",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maximum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minimum",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "type",
    "uniqueItems",
];

fn wrong(keyword: &str, expected: &str) -> CommandError {
    CommandError::new(code::TYPE_MISMATCH, format!("$jsonSchema keyword '{keyword}' must be {expected}"))
}

fn parse_types(value: Value<'_>) -> Result<Vec<TypeName>, CommandError> {
    let one = |value: Value<'_>| {
        let name = value.as_str().ok_or_else(|| wrong("bsonType", "a string or an array of strings"))?;
        TypeName::parse(name)
            .ok_or_else(|| CommandError::new(code::BAD_VALUE, format!("Unknown type name alias: {name}")))
    };
    if value.is_array() {
        value.elements().map(|item| one(item.value)).collect()
    } else {
        Ok(vec![one(value)?])
    }
}

fn parse_required(value: Value<'_>) -> Result<Vec<String>, CommandError> {
    let names = value
        .as_array()
        .map(|array| raw::elements(array).map(|item| item.value.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    match names {
        Some(names) => {
            let names: Vec<String> = names;
            if names.is_empty() {
                return Err(CommandError::new(
                    code::FAILED_TO_PARSE,
                    "$jsonSchema keyword 'required' must be an array of at least one name",
                ));
            }
            Ok(names)
        }
        None => Err(wrong("required", "an array of strings")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Document, doc};

    fn bytes(document: &Document) -> Vec<u8> {
        bson::serialize_to_vec(document).unwrap()
    }

    fn schema(document: Document) -> Schema {
        Schema::from_validator(&bytes(&doc! { "$jsonSchema": document })).unwrap().unwrap()
    }

    #[test]
    fn documents_are_held_to_types_and_required_fields() {
        let schema = schema(doc! {
            "bsonType": "object", "required": ["key"],
            "properties": {
                "key": { "bsonType": "string" },
                "n": { "bsonType": ["int", "long"] },
                "x": { "bsonType": "number" },
                "inner": { "bsonType": "object", "required": ["a"], "properties": { "a": { "bsonType": "bool" } } },
            },
        });
        for (document, fits) in [
            (doc! { "key": "k" }, true),
            (doc! { "key": "k", "other": 1 }, true),
            (doc! { "key": 1 }, false),
            (doc! {}, false),
            (doc! { "key": "k", "n": 1 }, true),
            (doc! { "key": "k", "n": 1i64 }, true),
            (doc! { "key": "k", "n": 1.0 }, false),
            (doc! { "key": "k", "x": 1.0 }, true),
            (doc! { "key": "k", "x": "1" }, false),
            (doc! { "key": "k", "inner": { "a": true } }, true),
            (doc! { "key": "k", "inner": {} }, false),
            (doc! { "key": "k", "inner": { "a": 1 } }, false),
            (doc! { "key": "k", "inner": [] }, false),
        ] {
            assert_eq!(schema.explain(&bytes(&document)).is_none(), fits, "{document}");
        }
    }

    #[test]
    fn the_details_name_what_is_missing_and_what_does_not_fit() {
        let schema = schema(doc! {
            "required": ["key", "other"], "properties": { "value": { "bsonType": "string" } },
        });
        let details = schema.explain(&bytes(&doc! { "key": 1, "value": 2 })).unwrap();
        let details: Document = bson::deserialize_from_slice(&details).unwrap();
        assert_eq!(
            details,
            doc! {
                "operatorName": "$jsonSchema",
                "schemaRulesNotSatisfied": [
                    { "operatorName": "required", "specifiedAs": { "required": ["key", "other"] },
                      "missingProperties": ["other"] },
                    { "operatorName": "properties", "propertiesNotSatisfied": [{
                        "propertyName": "value", "details": [{
                            "operatorName": "bsonType", "specifiedAs": { "bsonType": "string" },
                            "reason": "type did not match", "consideredValue": 2, "consideredType": "int" }] }] },
                ],
            }
        );
    }

    #[test]
    fn keywords_that_would_be_ignored_are_refused() {
        for (validator, part) in [
            (doc! { "$jsonSchema": { "minimum": 1 } }, "minimum"),
            (doc! { "$jsonSchema": { "properties": { "a": { "enum": [1] } } } }, "enum"),
            (doc! { "$jsonSchema": { "nonsense": 1 } }, "nonsense"),
            (doc! { "$jsonSchema": { "bsonType": "text" } }, "text"),
            (doc! { "$jsonSchema": { "required": [1] } }, "required"),
            (doc! { "a": { "$gt": 1 } }, "`a`"),
        ] {
            let error = Schema::from_validator(&bytes(&validator)).unwrap_err();
            assert!(error.message.contains(part), "{validator}: {}", error.message);
        }
    }
}
