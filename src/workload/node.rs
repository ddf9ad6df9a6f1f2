//! [`Node`]: a YAML value that knows where it came from.

use crate::span::{Location, Text};
use serde_json::Value as Json;

/// A YAML (or JSON) value that knows where it came from. Scalars follow the JSON schema: only `true|false`
/// are booleans, only `null` and empty are null.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub data: Data,
    pub location: Option<Location>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Any other scalar, and integers beyond 64 bits; each character's place is known.
    Text(Text),
    List(Vec<Node>),
    /// In file order. Keys that are not text are refused where they would be used.
    Map(Vec<(Text, Node)>),
}

impl Node {
    /// What kind of value this is, for messages: `a list`.
    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "true or false",
            Data::Int(_) | Data::Float(_) => "a number",
            Data::Text(_) => "a text",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// A scalar as text, as it was written where that is known (`1.10` stays `1.10`); nothing for null, lists
    /// and maps.
    pub fn as_text(&self) -> Option<Text> {
        let plain = match &self.data {
            Data::Text(text) => return Some(text.clone()),
            Data::Bool(value) => value.to_string(),
            Data::Int(value) => value.to_string(),
            Data::Float(value) => value.to_string(),
            Data::Null | Data::List(_) | Data::Map(_) => return None,
        };
        let mut text = Text::default();
        let written = self.location.as_ref().and_then(|at| at.source.text.get(at.range.clone()));
        match written {
            // A scalar put together from several places has the place of the first.
            Some(written) if super::yaml::resolve(written) == self.data => {
                text.push_str(written, self.location.clone());
            }
            _ => text.push_str(&plain, self.location.clone()),
        }
        Some(text)
    }

    /// As JSON; what JSON has no number for (infinities, not-a-number) is text.
    pub fn to_json(&self) -> Json {
        match &self.data {
            Data::Null => Json::Null,
            Data::Bool(value) => Json::Bool(*value),
            Data::Int(value) => Json::from(*value),
            Data::Float(value) => serde_json::Number::from_f64(*value)
                .map_or_else(|| Json::String(value.to_string()), Json::Number),
            Data::Text(text) => Json::String(text.as_str().to_owned()),
            Data::List(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Data::Map(entries) => Json::Object(
                entries.iter().map(|(key, value)| (key.as_str().to_owned(), value.to_json())).collect(),
            ),
        }
    }

    /// Calls `visit` with every text below this node, keys included, in file order.
    pub fn each_text<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match &self.data {
            Data::Text(text) => visit(text),
            Data::List(items) => items.iter().for_each(|item| item.each_text(visit)),
            Data::Map(entries) => {
                for (key, value) in entries {
                    visit(key);
                    value.each_text(visit);
                }
            }
            Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) => {}
        }
    }
}
