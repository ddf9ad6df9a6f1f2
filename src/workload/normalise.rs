//! YAML documents → op templates: the forms that documents, blocks and ops may have, brought to one; names,
//! tags, and the layering of bindings, params and tags (op over block over document).

use super::node::{Data, Node};
use super::{OpTemplate, Scenario, Step};
use crate::span::{Diagnostic, Location, Text};
use indexmap::IndexMap;
use std::collections::HashMap;

/// The version of the reference whose workloads are understood: a `min_version` beyond it is refused.
const REFERENCE_VERSION: (u64, u64) = (5, 25);

/// Keys under which a document or a block has its ops.
const COLLECTION_KEYS: &[&str] = &["op", "ops", "operation", "stmt", "statement", "statements"];

/// Keys under which one op has its text or fields.
const OP_KEYS: &[&str] = &["stmt", "statement", "op", "operation"];

const DESCRIPTION_KEYS: &[&str] = &["desc", "description"];
const LAYER_KEYS: &[&str] = &["name", "desc", "description", "bindings", "params", "tags"];
/// How the error about a field that no workload has begins.
pub(super) const UNKNOWN_FIELD: &str = "a workload has no field";
const DOCUMENT_KEYS: &[&str] = &["scenarios", "blocks", "min_version", "version_regex"];

/// What the documents of a file come to.
#[derive(Debug, Default)]
pub(super) struct Normalised {
    pub description: Option<String>,
    pub scenarios: Vec<Scenario>,
    /// What is wrong with them, while the ops can be used.
    pub scenario_errors: Vec<Diagnostic>,
    pub ops: Vec<OpTemplate>,
    pub document_bindings: IndexMap<String, Text>,
    pub warnings: Vec<Diagnostic>,
    pub errors: Vec<Diagnostic>,
}

/// Normalises every document; nulls (empty documents) are passed over.
pub(super) fn normalise(documents: Vec<Node>) -> Normalised {
    let mut result = Normalised::default();
    let mut first = true;
    for node in documents.into_iter().filter(|node| !node.is_null()) {
        result.document(node, first);
        first = false;
    }
    result.warn_of_equal_names();
    result.errors.sort_by_key(super::place);
    result.warnings.sort_by_key(super::place);
    result
}

fn placed(message: impl Into<String>, at: Option<Location>, help: &str) -> Diagnostic {
    let error = Diagnostic::error(message).at(at);
    if help.is_empty() { error } else { error.help(help) }
}

type Entries = Vec<(Text, Node)>;

/// What documents, blocks and ops have in common, in the form of one of them.
#[derive(Debug, Clone, Default)]
struct Layer {
    name: Option<String>,
    description: Option<String>,
    bindings: IndexMap<String, Text>,
    params: IndexMap<String, Node>,
    tags: IndexMap<String, String>,
}

/// A block before its ops have their names.
struct Block {
    layer: Layer,
    ops: Option<(Text, Node)>,
}

/// Removes the entry `key`.
fn take(entries: &mut Entries, key: &str) -> Option<(Text, Node)> {
    let at = entries.iter().position(|(name, _)| name.as_str() == key)?;
    Some(entries.remove(at))
}

fn plural_forms(keys: &[&str]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    quoted.join(", ")
}

impl Normalised {
    /// Ops of one name cannot be told apart in results.
    fn warn_of_equal_names(&mut self) {
        let mut first: HashMap<&str, &OpTemplate> = HashMap::new();
        for op in &self.ops {
            if let Some(earlier) = first.get(op.name.as_str()) {
                self.warnings.push(
                    Diagnostic::warning(format!("two ops are called `{}`", op.name))
                        .at(op.location.clone())
                        .related(earlier.location.clone(), "the other one")
                        .help("give one of them a `name`, so that their results can be told apart"),
                );
            } else {
                first.insert(&op.name, op);
            }
        }
    }

    fn error(&mut self, message: impl Into<String>, at: Option<Location>, help: &str) {
        self.errors.push(placed(message, at, help));
    }

    fn scenario_error(&mut self, message: impl Into<String>, at: Option<Location>, help: &str) {
        self.scenario_errors.push(placed(message, at, help));
    }

    fn document(&mut self, node: Node, first: bool) {
        let Data::Map(mut entries) = node.data else {
            let message =
                format!("a workload is a map with `ops`, `blocks` and the like; this is {}", node.kind());
            self.error(message, node.location, "");
            return;
        };
        if let Some((_, version)) = take(&mut entries, "min_version") {
            self.min_version(&version);
        }
        if let Some((key, _)) = take(&mut entries, "version_regex") {
            self.warnings.push(
                Diagnostic::warning("`version_regex` names versions of the reference and is not checked")
                    .at(key.location()),
            );
        }
        let scenarios = take(&mut entries, "scenarios");
        let blocks = take(&mut entries, "blocks");
        let ops = self.take_ops(&mut entries);
        let layer = self.take_layer(&mut entries);
        let known: Vec<&str> =
            COLLECTION_KEYS.iter().chain(LAYER_KEYS).chain(DOCUMENT_KEYS).copied().collect();
        for (key, _) in entries {
            let error = Diagnostic::error(format!("{UNKNOWN_FIELD} `{key}`")).at(key.location());
            self.errors.push(match key.as_str() {
                "operations" | "stmts" => error.help("ops stand under `ops`"),
                name => {
                    error.suggest(name, known.iter().copied(), format!("it has {}", plural_forms(&known)))
                }
            });
        }
        if first {
            self.description.clone_from(&layer.description);
        }
        if let Some((key, scenarios)) = scenarios {
            if first {
                self.scenarios(&key, scenarios);
            } else {
                self.warnings.push(
                    Diagnostic::warning("only the first document's scenarios are used").at(key.location()),
                );
            }
        }
        for (name, recipe) in &layer.bindings {
            self.document_bindings.insert(name.clone(), recipe.clone());
        }
        self.blocks(&layer, ops, blocks);
    }

    fn min_version(&mut self, node: &Node) {
        let Some(wanted) = node.as_text() else {
            self.error("`min_version` is a version such as \"5.17.3\"", node.location.clone(), "");
            return;
        };
        let mut numbers = wanted.as_str().trim().split(['.', '-']).map(str::parse::<u64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), None) if major <= REFERENCE_VERSION.0 => {}
            (Some(Ok(major)), Some(Ok(minor))) if (major, minor) <= REFERENCE_VERSION => {}
            (Some(Ok(_)), None | Some(Ok(_))) => {
                let (major, minor) = REFERENCE_VERSION;
                self.error(
                    format!("this workload asks for version {wanted}; workloads up to {major}.{minor} are understood"),
                    node.location.clone(),
                    "",
                );
            }
            _ => {
                self.error(
                    format!("`{wanted}` is not a version such as \"5.17.3\""),
                    node.location.clone(),
                    "",
                );
            }
        }
    }

    fn scenarios(&mut self, key: &Text, node: Node) {
        let Data::Map(entries) = node.data else {
            let message = format!("`scenarios` is a map of names to steps; this is {}", node.kind());
            self.scenario_error(message, node.location.or(key.location()), "");
            return;
        };
        for (name, node) in entries {
            let location = node.location.clone().or(name.location());
            let steps: Vec<(String, Node)> = match node.data {
                Data::List(items) => {
                    items.into_iter().enumerate().map(|(at, item)| (format!("{at:03}"), item)).collect()
                }
                Data::Map(steps) => {
                    steps.into_iter().map(|(name, node)| (name.as_str().to_owned(), node)).collect()
                }
                Data::Null => {
                    self.scenario_error(format!("scenario `{name}` has no steps"), name.location(), "");
                    continue;
                }
                data => vec![("001".to_owned(), Node { data, location: location.clone() })],
            };
            let mut read = Vec::new();
            for (step, node) in steps {
                match node.as_text() {
                    Some(command) => {
                        let location = node.location.clone().or(location.clone());
                        read.push(Step { name: step, command, location });
                    }
                    None => {
                        let message = format!(
                            "step `{step}` of scenario `{name}` is a command in one text; this is {}",
                            node.kind()
                        );
                        let at = node.location.or(location.clone());
                        self.scenario_error(message, at, "write it as `run driver=… tags=… cycles=…`");
                    }
                }
            }
            self.scenarios.push(Scenario { name: name.as_str().to_owned(), steps: read });
        }
    }

    /// Removes the one key that holds the ops.
    fn take_ops(&mut self, entries: &mut Entries) -> Option<(Text, Node)> {
        let keys: Vec<Text> = entries
            .iter()
            .filter(|(key, _)| COLLECTION_KEYS.contains(&key.as_str()))
            .map(|(key, _)| key.clone())
            .collect();
        self.only_one(&keys);
        let mut found =
            keys.iter().filter_map(|key| take(entries, key.as_str())).collect::<Vec<_>>().into_iter();
        found.next()
    }

    fn only_one(&mut self, keys: &[Text]) {
        if let [first, second, ..] = keys {
            let error = Diagnostic::error(format!("the ops are given as `{first}` and as `{second}`"))
                .at(second.location())
                .related(first.location(), "first given here")
                .help("use one of the two");
            self.errors.push(error);
        }
    }

    /// Removes what every layer may have.
    fn take_layer(&mut self, entries: &mut Entries) -> Layer {
        let mut layer = Layer::default();
        for key in DESCRIPTION_KEYS {
            if let Some((key, node)) = take(entries, key) {
                if layer.description.is_some() {
                    self.error("`desc` and `description` are both given", key.location(), "keep one of them");
                }
                match node.as_text() {
                    Some(text) => layer.description = Some(text.as_str().to_owned()),
                    None if node.is_null() => {}
                    None => {
                        let message = format!("`{key}` is a text; this is {}", node.kind());
                        self.error(message, node.location, "");
                    }
                }
            }
        }
        if let Some((_, node)) = take(entries, "name") {
            match node.as_text() {
                Some(name) => layer.name = Some(name.as_str().to_owned()).filter(|name| !name.is_empty()),
                None if node.is_null() => {}
                None => self.error(format!("`name` is a text; this is {}", node.kind()), node.location, ""),
            }
        }
        for (name, node) in self.take_map(entries, "bindings") {
            match node.as_text() {
                Some(recipe) => {
                    layer.bindings.insert(name.as_str().to_owned(), recipe);
                }
                None if node.is_null() => self.warnings.push(
                    Diagnostic::warning(format!("binding `{name}` has no recipe and is left out"))
                        .at(name.location()),
                ),
                None => {
                    let message =
                        format!("binding `{name}` is a recipe in one text; this is {}", node.kind());
                    self.error(message, node.location, "put the recipe in quotes");
                }
            }
        }
        for (name, node) in self.take_map(entries, "params") {
            layer.params.insert(name.as_str().to_owned(), node);
        }
        for (name, node) in self.take_map(entries, "tags") {
            match node.as_text() {
                Some(value) => {
                    layer.tags.insert(name.as_str().to_owned(), value.as_str().to_owned());
                }
                None => {
                    let message = format!("tag `{name}` has a text as its value; this is {}", node.kind());
                    self.error(message, node.location.or(name.location()), "");
                }
            }
        }
        layer
    }

    fn take_map(&mut self, entries: &mut Entries, key: &str) -> Entries {
        match take(entries, key) {
            None => Vec::new(),
            Some((_, Node { data: Data::Map(entries), .. })) => entries,
            Some((_, node)) if node.is_null() => Vec::new(),
            Some((key, node)) => {
                self.error(format!("`{key}` is a map; this is {}", node.kind()), node.location, "");
                Vec::new()
            }
        }
    }

    fn blocks(&mut self, document: &Layer, ops: Option<(Text, Node)>, blocks: Option<(Text, Node)>) {
        let mut all: Vec<Block> = Vec::new();
        if let Some(ops) = ops {
            let has_ops = !matches!(&ops.1.data, Data::List(items) if items.is_empty())
                && !matches!(&ops.1.data, Data::Map(entries) if entries.is_empty());
            let layer = Layer { name: Some("block0".to_owned()), ..Layer::default() };
            if has_ops {
                all.push(Block { layer, ops: Some(ops) });
            }
        }
        let named: Vec<(Option<Text>, Node)> = match blocks {
            None => Vec::new(),
            Some((_, Node { data: Data::Map(entries), .. })) => {
                entries.into_iter().map(|(name, node)| (Some(name), node)).collect()
            }
            Some((_, Node { data: Data::List(items), .. })) => {
                items.into_iter().map(|node| (None, node)).collect()
            }
            Some((_, node)) if node.is_null() => Vec::new(),
            Some((key, node)) => {
                let message =
                    format!("`blocks` is a map of names to blocks, or a list; this is {}", node.kind());
                self.error(message, node.location.or(key.location()), "");
                Vec::new()
            }
        };
        for (name, node) in named {
            if let Some(block) = self.block(name, node) {
                all.push(block);
            }
        }
        for (position, block) in all.into_iter().enumerate() {
            let name = block.layer.name.clone().unwrap_or_else(|| format!("block{}", position + 1));
            if let Some((key, ops)) = block.ops {
                self.ops(document, &block.layer, &name, &key, ops);
            }
        }
    }

    fn block(&mut self, name: Option<Text>, node: Node) -> Option<Block> {
        let Data::Map(mut entries) = node.data else {
            let which = name.as_ref().map_or(String::new(), |name| format!(" `{name}`"));
            let message = format!("block{which} is a map with `ops` and the like; this is {}", node.kind());
            let at = name.and_then(|name| name.location()).or(node.location);
            self.error(message, at, "write `{}` for a block that is empty on purpose");
            return None;
        };
        let ops = self.take_ops(&mut entries);
        let mut layer = self.take_layer(&mut entries);
        if layer.name.is_none() {
            layer.name = name.map(|name| name.as_str().to_owned());
        }
        let known: Vec<&str> = COLLECTION_KEYS.iter().chain(LAYER_KEYS).copied().collect();
        for (key, value) in entries {
            let block = layer.name.as_deref().unwrap_or("without a name");
            let looks_like_block = matches!(&value.data, Data::Map(inner)
                if inner.iter().any(|(key, _)| COLLECTION_KEYS.contains(&key.as_str())));
            let warning =
                Diagnostic::warning(format!("block `{block}` has no field `{key}`: it is left out"))
                    .at(key.location());
            self.warnings.push(if looks_like_block {
                warning.help(format!(
                    "blocks do not nest: if `{key}` is a block of its own, indent it like `{block}`"
                ))
            } else {
                warning.suggest(
                    key.as_str(),
                    known.iter().copied(),
                    "check the indentation: ops and their fields stand under `ops`",
                )
            });
        }
        Some(Block { layer, ops })
    }

    /// The op collection of a block: a text, a list, or a map of names.
    fn ops(&mut self, document: &Layer, block: &Layer, block_name: &str, key: &Text, node: Node) {
        let at = node.location.clone().or(key.location());
        let items: Vec<(Option<Text>, Node)> = match node.data {
            Data::Text(_) => vec![(Some(Text::unplaced("stmt1")), node)],
            Data::List(items) => items.into_iter().map(|item| (None, item)).collect(),
            Data::Map(entries) => entries.into_iter().map(|(name, node)| (Some(name), node)).collect(),
            Data::Null => {
                let message = format!("`{key}` of block `{block_name}` has no ops");
                self.error(message, key.location(), "write `{}` for none, or check the indentation below it");
                return;
            }
            _ => {
                let message = format!(
                    "`{key}` is one op text, a list of ops, or a map of names to ops; this is {}",
                    node.kind()
                );
                self.error(message, at, "");
                return;
            }
        };
        for (position, (name, node)) in items.into_iter().enumerate() {
            let default_name = format!("stmt{}", position + 1);
            if let Some(op) = self.op(document, block, block_name, name, node, &default_name) {
                self.ops.push(op);
            }
        }
    }

    fn op(
        &mut self,
        document: &Layer,
        block: &Layer,
        block_name: &str,
        name: Option<Text>,
        node: Node,
        default_name: &str,
    ) -> Option<OpTemplate> {
        let location = name.as_ref().and_then(Text::location).or_else(|| node.location.clone());
        let named = name.is_some();
        let is_item_text = !named && matches!(node.data, Data::Text(_));
        let mut entries: Entries = match node.data {
            Data::Map(entries) => entries,
            Data::Text(_) => vec![(Text::unplaced("stmt"), node)],
            Data::List(_) if named => vec![(Text::unplaced("stmt"), node)],
            Data::Null if named => {
                let name = name.unwrap_or_default();
                self.error(
                    format!("op `{name}` has nothing to do"),
                    location,
                    "check the indentation below it",
                );
                return None;
            }
            _ => {
                let message = format!("an op is a text or a map of fields; this is {}", node.kind());
                self.error(message, location, "");
                return None;
            }
        };
        if self.refuse_nulls(&entries) {
            return None;
        }
        let mut layer = self.take_layer(&mut entries);
        if layer.name.is_none() {
            // An item of a list that is a bare text has its default name; a name in the map counts before one
            // that is made from its fields.
            let given = if is_item_text {
                Some(default_name.to_owned())
            } else {
                name.map(|n| n.as_str().to_owned())
            };
            layer.name = given;
        }
        let keys: Vec<Text> = entries
            .iter()
            .filter(|(key, _)| OP_KEYS.contains(&key.as_str()))
            .map(|(key, _)| key.clone())
            .collect();
        if keys.len() > 1 {
            self.only_one(&keys);
            return None;
        }
        let mut op: Option<Node> = None;
        let mut text_found = false;
        if let Some((key, value)) = keys.first().and_then(|key| take(&mut entries, key.as_str())) {
            if matches!(value.data, Data::Text(_)) {
                text_found = true;
                let mut stmt = Text::default();
                stmt.push_str("stmt", key.location());
                entries.push((stmt, value));
            } else {
                op = Some(value);
            }
        }
        if layer.name.is_none() && op.is_none() && !entries.is_empty() {
            // The first field is name and op at once. Where the op text has a key of its own, that is the op and
            // the rest are its params: the reference takes `{op: …, ratio: 5}` for an op called `ratio`.
            let at = if text_found { entries.len() - 1 } else { 0 };
            let (key, value) = entries.remove(at);
            layer.name = Some(key.as_str().to_owned());
            op = Some(value);
        }
        let fields = match op {
            Some(value) => {
                if let Some((dangling, _)) = entries.first().filter(|_| !layer.params.is_empty()) {
                    let message = format!("`{dangling}` stands beside both the op and its `params`");
                    self.error(message, dangling.location(), "move it under `params`, or under `op`");
                    return None;
                }
                for (key, value) in entries {
                    layer.params.insert(key.as_str().to_owned(), value);
                }
                value
            }
            None => Node { data: Data::Map(entries), location: location.clone() },
        };
        let own_name = layer
            .params
            .get("name")
            .and_then(Node::as_text)
            .map(|name| name.as_str().to_owned())
            .or(layer.name.clone())
            .unwrap_or_else(|| default_name.to_owned());
        let fields: Entries = match fields.data {
            Data::Map(entries) => entries,
            Data::Text(_) | Data::List(_) => vec![(Text::unplaced("stmt"), fields)],
            _ => {
                let message = format!(
                    "op `{own_name}` is a text, a list or a map of fields; this is {}",
                    fields.kind()
                );
                self.error(message, fields.location.or(location), "");
                return None;
            }
        };
        let name = format!("{block_name}__{own_name}");
        let mut tags = layered(&document.tags, &block.tags, layer.tags);
        tags.insert("block".to_owned(), block_name.to_owned());
        tags.insert("name".to_owned(), name.clone());
        Some(OpTemplate {
            name,
            block: block_name.to_owned(),
            description: layer.description,
            op: fields.into_iter().map(|(key, value)| (key.as_str().to_owned(), value)).collect(),
            params: layered(&document.params, &block.params, layer.params),
            bindings: layered(&document.bindings, &block.bindings, layer.bindings),
            tags,
            location,
        })
    }

    /// Null values in an op's maps are errors, since they come from bind points that lack their quotes.
    fn refuse_nulls(&mut self, entries: &[(Text, Node)]) -> bool {
        let mut found = false;
        for (key, value) in entries {
            match &value.data {
                Data::Null => {
                    found = true;
                    let bare = key.as_str().trim_matches(['{', '}']);
                    self.error(
                        format!("`{key}` has no value"),
                        key.location(),
                        &format!("if a bind point is meant, quote it: \"{{{bare}}}\""),
                    );
                }
                Data::Map(inner) => found |= self.refuse_nulls(inner),
                _ => {}
            }
        }
        found
    }
}

/// The three layers in one: a key of an inner layer counts before that of an outer one. No deep merge.
fn layered<V: Clone>(
    document: &IndexMap<String, V>,
    block: &IndexMap<String, V>,
    op: IndexMap<String, V>,
) -> IndexMap<String, V> {
    let mut merged = document.clone();
    merged.extend(block.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged.extend(op);
    merged
}

#[cfg(test)]
mod tests {
    use super::super::yaml;
    use super::*;
    use serde_json::{Value as Json, json};

    fn read(yaml: &str) -> Normalised {
        let documents =
            yaml::documents(&Text::of_source("f", yaml)).unwrap_or_else(|error| panic!("{yaml}: {error:?}"));
        normalise(documents.nodes)
    }

    fn object(entries: &IndexMap<String, Node>) -> Json {
        Json::Object(entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect())
    }

    /// Name, op fields and params of each op.
    fn ops(yaml: &str) -> Vec<(String, Json, Json)> {
        let read = read(yaml);
        assert!(read.errors.is_empty(), "{yaml}: {:?}", read.errors);
        read.ops.iter().map(|op| (op.name.clone(), object(&op.op), object(&op.params))).collect()
    }

    fn errors(yaml: &str) -> Vec<String> {
        let read = read(yaml);
        read.errors.iter().chain(&read.scenario_errors).map(Diagnostic::one_line).collect()
    }

    #[test]
    fn every_form_of_an_op_comes_to_a_name_fields_and_params() {
        for (yaml, name, op, params) in [
            ("op: a b", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
            ("ops: [a b]", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
            ("stmt: a b", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
            ("ops: [{op: a b}]", "block0__stmt", json!({"stmt": "a b"}), json!({})),
            ("ops: [{op: a b, ratio: 5}]", "block0__stmt", json!({"stmt": "a b"}), json!({"ratio": 5})),
            (
                "ops: [{name: n1, op: a b, ratio: 5}]",
                "block0__n1",
                json!({"ratio": 5, "stmt": "a b"}),
                json!({}),
            ),
            ("ops: [{n1: a b, ratio: 5}]", "block0__n1", json!({"stmt": "a b"}), json!({"ratio": 5})),
            (
                "ops: {op1: {op: {stmt: {find: c}}, ratio: 3}}",
                "block0__op1",
                json!({"stmt": {"find": "c"}}),
                json!({"ratio": 3}),
            ),
            ("ops: {op1: {stmt: {find: c, x: 1}}}", "block0__op1", json!({"find": "c", "x": 1}), json!({})),
            ("ops: {op1: [1,2]}", "block0__op1", json!({"stmt": [1, 2]}), json!({})),
            ("ops: [{a: x, b: y}]", "block0__a", json!({"stmt": "x"}), json!({"b": "y"})),
            (
                "ops: {op1: {stmt: x, params: {name: zed}}}",
                "block0__zed",
                json!({"stmt": "x"}),
                json!({"name": "zed"}),
            ),
            ("ops: {op1: {find: c, params: {q: 1}}}", "block0__op1", json!({"find": "c"}), json!({"q": 1})),
            ("ops: {op1: {name: own, find: c}}", "block0__own", json!({"find": "c"}), json!({})),
            ("ops: {params: {find: c}}", "block0__params", json!({"find": "c"}), json!({})),
            (
                "ops: [{name: n, op: {find: c, params: {x: 1}}}]",
                "block0__n",
                json!({"find": "c", "params": {"x": 1}}),
                json!({}),
            ),
            ("statements: [{name: n, statement: s}]", "block0__n", json!({"stmt": "s"}), json!({})),
            ("ops: [{a: {k: [{ n }]}}]", "block0__a", json!({"k": [{"n": null}]}), json!({})),
        ] {
            assert_eq!(ops(yaml), [(name.to_owned(), op, params)], "{yaml}");
        }
    }

    #[test]
    fn blocks_have_names_and_number_from_one_counting_block0() {
        let names = |yaml: &str| ops(yaml).into_iter().map(|(name, ..)| name).collect::<Vec<_>>();
        assert_eq!(names("ops: a\nblocks: [{ops: b}]"), ["block0__stmt1", "block2__stmt1"]);
        assert_eq!(
            names("blocks: [{ops: a}, {ops: [b, c]}]"),
            ["block1__stmt1", "block2__stmt1", "block2__stmt2"]
        );
        assert_eq!(names("blocks: {x: {ops: a}, y: {name: z, ops: b}}"), ["x__stmt1", "z__stmt1"]);
        assert_eq!(names("blocks: {x: {}, y: {ops: {}}}"), [""; 0]);
        assert_eq!(names("ops: a\n---\nops: b\n---\n"), ["block0__stmt1", "block0__stmt1"]);
    }

    #[test]
    fn inner_layers_count_before_outer_ones_and_documents_are_apart() {
        let read = read(
            "bindings: {a: A, b: B}\nparams: {p: 1, q: 1}\ntags: {t: doc, block: mine}\n\
             blocks:\n  x:\n    bindings: {b: B2}\n    params: {q: 2}\n    tags: {t: 1.10}\n    ops:\n      \
             o: {f: v, bindings: {c: C}, params: {q: 3}, tags: {u: v}}\n---\nops: s\n",
        );
        assert!(read.errors.is_empty(), "{:?}", read.errors);
        let op = &read.ops[0];
        let bindings: Vec<(&str, &str)> = op.bindings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(bindings, [("a", "A"), ("b", "B2"), ("c", "C")]);
        assert_eq!(object(&op.params), json!({"p": 1, "q": 3}));
        let tags: Vec<(&str, &str)> = op.tags.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(tags, [("t", "1.10"), ("block", "x"), ("u", "v"), ("name", "x__o")]);
        assert!(read.ops[1].bindings.is_empty());
        let document: Vec<&String> = read.document_bindings.keys().collect();
        assert_eq!(document, ["a", "b"]);
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_is_all_at_once() {
        for (yaml, parts) in [
            ("ops: [{n1: a b, ratio: 5, params: {q: 1}}]", &["f:1:17: error: `ratio` stands beside"][..]),
            (
                "ops: {a: {find: {id}}}",
                &["f:1:18: error: `id` has no value\n  help: if a bind point is meant, quote it: \"{id}\""],
            ),
            ("ops: {a: {x: {{Identity()}}}}", &["quote it: \"{Identity()}\""]),
            (
                "op: a\nops: b",
                &["f:2:1: error: the ops are given as `op` and as `ops` (first given here: f:1:1)"],
            ),
            ("ops: [{name: n, op: a, stmt: b}]", &["are given as `op` and as `stmt`"]),
            (
                "junk: 1\nstmts: x",
                &[
                    "f:1:1: error: a workload has no field `junk`",
                    "f:2:1: error: a workload has no field `stmts`\n  help: ops stand under `ops`",
                ],
            ),
            ("bindngs: {}", &["did you mean `bindings`?"]),
            (
                "ops:\nblocks: {x: }",
                &["f:1:1: error: `ops` of block `block0` has no ops", "f:2:10: error: block `x` is a map"],
            ),
            (
                "ops: {a: , b: 5, c: x}",
                &["op `a` has nothing to do", "an op is a text or a map of fields; this is a number"],
            ),
            ("ops: [5]", &["f:1:7: error: an op is a text or a map"]),
            ("ops: [{a: 5}]", &["op `a` is a text, a list or a map of fields; this is a number"]),
            ("- a", &["f:1:1: error: a workload is a map"]),
            ("description: a\ndesc: b", &["`desc` and `description` are both given"]),
            ("min_version: \"5.26.0\"", &["asks for version 5.26.0; workloads up to 5.25"]),
            ("min_version: 6", &["asks for version 6"]),
            ("min_version: new", &["`new` is not a version"]),
            ("bindings: {a: [1]}", &["binding `a` is a recipe in one text; this is a list"]),
            ("params: x", &["`params` is a map; this is a text"]),
            ("description: [x]", &["f:1:14: error: `description` is a text; this is a list"]),
            ("tags: {a: {b: c}}", &["tag `a` has a text as its value; this is a map"]),
            ("scenarios: [x]", &["`scenarios` is a map"]),
            (
                "scenarios: {a: , b: {s: [1]}}",
                &[
                    "scenario `a` has no steps",
                    "step `s` of scenario `b` is a command in one text; this is a list",
                ],
            ),
        ] {
            let errors = errors(yaml);
            assert_eq!(errors.len(), parts.len(), "{yaml}: {errors:?}");
            for (error, part) in errors.iter().zip(parts) {
                assert!(error.contains(part), "{yaml}: {error}");
            }
        }
        assert!(errors("min_version: \"5.25.13\"\nops: a").is_empty());
        assert!(errors("min_version: 5.17\nops: a").is_empty());
    }

    #[test]
    fn odd_things_that_do_no_harm_are_warned_of() {
        for (yaml, part) in [
            (
                "blocks: {a: {ops: x, rampup: {ops: y}}}",
                "f:1:22: warning: block `a` has no field `rampup`: it is left out\n  help: blocks do not nest",
            ),
            ("blocks: {a: {ops: x, pramas: {y: z}}}", "did you mean `params`?"),
            ("blocks: {a: {ops: x, find: c}}", "check the indentation"),
            ("bindings: {a: }\nops: x", "binding `a` has no recipe"),
            ("ops: a\n---\nscenarios: {a: b}", "only the first document's scenarios"),
            ("version_regex: '5.*'", "is not checked"),
            (
                "ops: [{a: x}, {a: y}]",
                "f:1:15: warning: two ops are called `block0__a` (the other one: f:1:7)",
            ),
        ] {
            let read = read(yaml);
            let warnings: Vec<String> = read.warnings.iter().map(Diagnostic::one_line).collect();
            assert!(read.errors.is_empty() && warnings.len() == 1, "{yaml}: {:?} {warnings:?}", read.errors);
            assert!(warnings[0].contains(part), "{yaml}: {}", warnings[0]);
        }
    }

    #[test]
    fn scenarios_are_texts_lists_or_maps_of_steps() {
        let read = read("scenarios:\n  a: run x=1\n  b: [run x=1, run x=2]\n  c: {s: run x=1, t: run x=2}\n");
        let steps: Vec<String> = read
            .scenarios
            .iter()
            .flat_map(|s| {
                s.steps.iter().map(move |step| format!("{}.{} {}", s.name, step.name, step.command))
            })
            .collect();
        assert_eq!(steps, ["a.001 run x=1", "b.000 run x=1", "b.001 run x=2", "c.s run x=1", "c.t run x=2"]);
    }
}
