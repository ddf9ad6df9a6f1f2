//! Hash codes, equality and hash maps as Java has them. The order in which `HashMap` and `HashSet` give their
//! entries is part of what recipes yield, so that it is rebuilt here, rule for rule.

use super::Value;

/// What may be a key of a [`JavaHashMap`].
pub trait JavaKey {
    /// `Object.hashCode`; 0 for null.
    fn java_hash(&self) -> i32;
    /// `Object.equals`.
    fn java_equals(&self, other: &Self) -> bool;
}

impl JavaKey for String {
    fn java_hash(&self) -> i32 {
        text_hash(self)
    }

    fn java_equals(&self, other: &String) -> bool {
        self == other
    }
}

/// `String.hashCode`: over UTF-16 units.
fn text_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

fn long_hash(value: i64) -> i32 {
    (value ^ (value as u64 >> 32) as i64) as i32
}

/// `Double.doubleToLongBits`: one NaN for all.
fn double_bits(value: f64) -> i64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() as i64 }
}

fn float_bits(value: f32) -> i32 {
    if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() as i32 }
}

/// `BigInteger.hashCode`.
fn integer_hash(value: i64) -> i32 {
    let bits = value.unsigned_abs();
    let hash = ((bits >> 32) as i32).wrapping_mul(31).wrapping_add(bits as i32);
    if value < 0 { hash.wrapping_neg() } else { hash }
}

/// The hash of a list, and, read backwards, of a buffer.
fn polynomial(hashes: impl Iterator<Item = i32>) -> i32 {
    hashes.fold(1i32, |hash, item| hash.wrapping_mul(31).wrapping_add(item))
}

/// Joda adds the hash of its calendar: ISO in UTC.
fn joda_hash(millis: i64) -> i32 {
    let zone = text_hash("UTC").wrapping_add(57);
    long_hash(millis).wrapping_add(text_hash("ISO").wrapping_mul(11).wrapping_add(zone))
}

impl JavaKey for Value {
    /// Arrays and the mark of unset fields have no hash that could be told beforehand in Java: 0 here.
    fn java_hash(&self) -> i32 {
        match self {
            Value::Null | Value::Unset | Value::Doubles(_) | Value::Floats(_) | Value::Array(_) => 0,
            Value::Bool(true) => 1231,
            Value::Bool(false) => 1237,
            Value::Byte(byte) => i32::from(*byte),
            Value::Short(short) => i32::from(*short),
            Value::Int(int) => *int,
            Value::Long(long) => long_hash(*long),
            Value::Float(float) => float_bits(*float),
            Value::Double(double) => long_hash(double_bits(*double)),
            Value::BigInteger(integer) => integer_hash(*integer),
            Value::BigDecimal(decimal) => decimal.java_hash(),
            Value::Text(text) => text_hash(text),
            Value::Chars { .. } => {
                let units: Vec<u16> = self.as_text().unwrap_or_default().encode_utf16().collect();
                polynomial(units.iter().rev().map(|unit| i32::from(*unit)))
            }
            Value::Uuid { high, low } => long_hash((high ^ low) as i64),
            Value::Date(millis) | Value::DateTime(millis) => long_hash(*millis),
            Value::Instant(millis) => {
                let nanos = (millis.rem_euclid(1_000) * 1_000_000) as i32;
                long_hash(millis.div_euclid(1_000)).wrapping_add(nanos.wrapping_mul(51))
            }
            Value::JodaInstant(millis) | Value::JodaDateTime(millis) => joda_hash(*millis),
            Value::LocalTime(millis) => long_hash(millis.wrapping_mul(1_000_000)),
            Value::InetAddress(bytes) => i32::from_be_bytes(*bytes),
            Value::Bytes(bytes) => polynomial(bytes.iter().rev().map(|byte| i32::from(*byte as i8))),
            Value::List(values) => polynomial(values.iter().map(Value::java_hash)),
            Value::Set(values) => values.iter().fold(0i32, |sum, value| sum.wrapping_add(value.java_hash())),
            Value::Map(entries) => entries
                .iter()
                .fold(0i32, |sum, (key, value)| sum.wrapping_add(key.java_hash() ^ value.java_hash())),
            Value::Document(fields) => fields
                .iter()
                .fold(0i32, |sum, (name, value)| sum.wrapping_add(text_hash(name) ^ value.java_hash())),
            Value::ObjectId(bytes) => polynomial(bytes.iter().map(|byte| i32::from(*byte as i8))),
            Value::Decimal128(decimal) => {
                polynomial(decimal.bytes().iter().map(|byte| i32::from(*byte as i8)))
            }
            Value::Binary { bytes, .. } => polynomial(bytes.iter().map(|byte| i32::from(*byte as i8))),
        }
    }

    fn java_equals(&self, other: &Value) -> bool {
        let all =
            |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.java_equals(b));
        match (self, other) {
            (Value::Float(a), Value::Float(b)) => float_bits(*a) == float_bits(*b),
            (Value::Double(a), Value::Double(b)) => double_bits(*a) == double_bits(*b),
            (Value::List(a), Value::List(b)) => all(a, b),
            (Value::Set(a), Value::Set(b)) => {
                a.len() == b.len() && a.iter().all(|a| b.iter().any(|b| a.java_equals(b)))
            }
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(key, value)| {
                        b.iter().any(|(other, has)| key.java_equals(other) && value.java_equals(has))
                    })
            }
            (Value::Chars { .. }, Value::Chars { .. }) => self.as_text() == other.as_text(),
            (a, b) => a == b,
        }
    }
}

/// Java's `HashMap`, as far as its order goes. Buckets never become trees here: the reference's do where nine
/// keys of a map with 64 or more buckets share one.
#[derive(Debug, Clone)]
pub struct JavaHashMap<K, V> {
    /// The first entry of each bucket; a power of two of them.
    heads: Vec<Option<usize>>,
    entries: Vec<Entry<K, V>>,
    /// Places of entries that were removed.
    free: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Entry<K, V> {
    hash: u32,
    /// None once removed.
    pair: Option<(K, V)>,
    next: Option<usize>,
}

/// The most buckets of any map.
const MOST_BUCKETS: usize = 1 << 30;
/// Chains of this length ask for a tree, and a map with fewer than 64 buckets grows instead.
const TREE_FROM: usize = 9;
const LEAST_FOR_TREES: usize = 64;

impl<K: JavaKey, V> Default for JavaHashMap<K, V> {
    fn default() -> JavaHashMap<K, V> {
        JavaHashMap::with_capacity(16)
    }
}

impl<K: JavaKey, V> JavaHashMap<K, V> {
    /// `new HashMap(capacity)`.
    pub fn with_capacity(capacity: usize) -> JavaHashMap<K, V> {
        let buckets = capacity.clamp(1, MOST_BUCKETS).next_power_of_two();
        JavaHashMap { heads: vec![None; buckets], entries: Vec::new(), free: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// More than three quarters.
    fn is_full(&self) -> bool {
        self.len() * 4 > self.heads.len() * 3
    }

    fn bucket(&self, hash: u32) -> usize {
        hash as usize & (self.heads.len() - 1)
    }

    fn find(&self, key: &K, hash: u32) -> Option<usize> {
        let mut at = self.heads.get(self.bucket(hash)).copied().flatten();
        while let Some(place) = at {
            let entry = &self.entries[place];
            if entry.hash == hash && entry.pair.as_ref().is_some_and(|(known, _)| known.java_equals(key)) {
                return Some(place);
            }
            at = entry.next;
        }
        None
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries[self.find(key, spread(key))?].pair.as_ref().map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.find(key, spread(key))?;
        self.entries[place].pair.as_mut().map(|(_, value)| value)
    }

    /// `put`: the value before, if there was one. A new key goes to the end of its bucket; the map grows
    /// after that if it is three quarters full.
    pub fn put(&mut self, key: K, value: V) -> Option<V> {
        let hash = spread(&key);
        if let Some(place) = self.find(&key, hash) {
            return self.entries[place].pair.as_mut().map(|(_, old)| std::mem::replace(old, value));
        }
        let place = self.place(Entry { hash, pair: Some((key, value)), next: None });
        let length = self.append(place);
        if length >= TREE_FROM && self.heads.len() < LEAST_FOR_TREES {
            self.grow();
        }
        if self.is_full() {
            self.grow();
        }
        None
    }

    /// `merge`: unlike `put`, the map grows before, and only if it is more than three quarters full already;
    /// a new key goes to the front of its bucket.
    pub fn merge(&mut self, key: K, value: V, combine: impl FnOnce(&mut V, V)) {
        if self.is_full() {
            self.grow();
        }
        let hash = spread(&key);
        if let Some(place) = self.find(&key, hash) {
            if let Some((_, old)) = &mut self.entries[place].pair {
                combine(old, value);
            }
            return;
        }
        let bucket = self.bucket(hash);
        let next = self.heads[bucket];
        let place = self.place(Entry { hash, pair: Some((key, value)), next });
        self.heads[bucket] = Some(place);
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let hash = spread(key);
        let place = self.find(key, hash)?;
        let bucket = self.bucket(hash);
        let next = self.entries[place].next;
        let mut at = self.heads[bucket];
        if at == Some(place) {
            self.heads[bucket] = next;
        }
        while let Some(before) = at {
            at = self.entries[before].next;
            if at == Some(place) {
                self.entries[before].next = next;
                break;
            }
        }
        self.free.push(place);
        self.entries[place].pair.take().map(|(_, value)| value)
    }

    /// `clear`: the buckets stay as many as they are.
    pub fn clear(&mut self) {
        self.heads.fill(None);
        self.entries.clear();
        self.free.clear();
    }

    /// The entries in Java's order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.order().filter_map(|place| self.entries[place].pair.as_ref().map(|(key, value)| (key, value)))
    }

    /// The entries in Java's order.
    pub fn into_pairs(mut self) -> Vec<(K, V)> {
        let order: Vec<usize> = self.order().collect();
        order.into_iter().filter_map(|place| self.entries[place].pair.take()).collect()
    }

    fn order(&self) -> impl Iterator<Item = usize> {
        self.heads.iter().flat_map(|head| std::iter::successors(*head, |place| self.entries[*place].next))
    }

    fn place(&mut self, entry: Entry<K, V>) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.entries[place] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        }
    }

    /// Puts an entry at the end of its bucket; how many are in there then.
    fn append(&mut self, place: usize) -> usize {
        let bucket = self.bucket(self.entries[place].hash);
        let mut length = 1;
        match self.heads[bucket] {
            None => self.heads[bucket] = Some(place),
            Some(mut last) => {
                length += 1;
                while let Some(next) = self.entries[last].next {
                    last = next;
                    length += 1;
                }
                self.entries[last].next = Some(place);
            }
        }
        length
    }

    /// Twice the buckets; entries keep their order.
    fn grow(&mut self) {
        if self.heads.len() >= MOST_BUCKETS {
            return;
        }
        let order: Vec<usize> = self.order().collect();
        self.heads = vec![None; self.heads.len() * 2];
        for place in order {
            self.entries[place].next = None;
            self.append(place);
        }
    }
}

impl<V> JavaHashMap<Value, V> {
    /// The value under a String, without making one.
    pub fn get_text(&self, name: &str) -> Option<&V> {
        self.entries[self.find_text(name)?].pair.as_ref().map(|(_, value)| value)
    }

    pub fn get_text_mut(&mut self, name: &str) -> Option<&mut V> {
        let place = self.find_text(name)?;
        self.entries[place].pair.as_mut().map(|(_, value)| value)
    }

    fn find_text(&self, name: &str) -> Option<usize> {
        let hash = spread_hash(text_hash(name));
        let first = self.heads.get(self.bucket(hash)).copied().flatten();
        std::iter::successors(first, |place| self.entries[*place].next).find(|place| {
            let entry = &self.entries[*place];
            entry.hash == hash && matches!(&entry.pair, Some((Value::Text(known), _)) if known == name)
        })
    }
}

/// The hash that the bucket is chosen by.
fn spread<K: JavaKey>(key: &K) -> u32 {
    spread_hash(key.java_hash())
}

fn spread_hash(hash: i32) -> u32 {
    let hash = hash as u32;
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn hash_codes_are_javas() {
        for (value, expected) in [
            (Value::Null, 0),
            (Value::Bool(true), 1231),
            (Value::Int(-7), -7),
            (Value::Long(-1), 0),
            (Value::Long(1 << 32 | 5), 4),
            (Value::Double(1.0), 1_072_693_248),
            (Value::Float(1.0), 1_065_353_216),
            (text("hello"), 99_162_322),
            (text("a😀"), 97 * 961 + 0xd83d * 31 + 0xde00),
            (Value::List(vec![Value::Int(1), Value::Int(2)]), 994),
            (Value::Set(vec![Value::Int(1), Value::Int(2)]), 3),
            (Value::Map(vec![(Value::Int(1), Value::Int(2))]), 3),
            (Value::Bytes(vec![1, 2].into()), 31 * (31 + 2) + 1),
            (Value::InetAddress([0, 0, 1, 0]), 256),
        ] {
            assert_eq!(value.java_hash(), expected, "{value:?}");
        }
    }

    #[test]
    fn entries_come_in_javas_order() {
        let names = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
        let mut map = JavaHashMap::with_capacity(3);
        for name in &names[..3] {
            map.put((*name).to_owned(), ());
        }
        let order =
            |map: &JavaHashMap<String, ()>| map.iter().map(|(key, ())| key.clone()).collect::<Vec<_>>();
        assert_eq!(order(&map), ["two", "three", "one"]);
        let mut map = JavaHashMap::default();
        for name in names {
            assert_eq!(map.put(name.to_owned(), ()), None);
        }
        assert_eq!(map.put("ten".to_owned(), ()), Some(()));
        assert_eq!(map.len(), 10);
        assert_eq!(map.remove(&"six".to_owned()), Some(()));
        assert_eq!((map.get(&"six".to_owned()), map.len(), order(&map).len()), (None, 9, 9));
        let longs: Vec<i64> = {
            let mut map = JavaHashMap::default();
            for number in [40i64, 8, 24, 3] {
                map.put(Value::Long(number), ());
            }
            map.into_pairs()
                .into_iter()
                .map(|(key, ())| match key {
                    Value::Long(number) => number,
                    _ => -1,
                })
                .collect()
        };
        // 40, 8 and 24 share the ninth of sixteen buckets.
        assert_eq!(longs, [3, 40, 8, 24]);
    }

    #[test]
    fn merge_puts_new_keys_first_and_grows_late() {
        let mut map = JavaHashMap::default();
        for number in [40i64, 8, 24] {
            map.merge(Value::Long(number), 1, |old, new| *old += new);
        }
        map.merge(Value::Long(8), 1, |old, new| *old += new);
        let pairs = map.into_pairs();
        assert_eq!(pairs, [(Value::Long(24), 1), (Value::Long(8), 2), (Value::Long(40), 1)]);
    }

    #[test]
    fn equal_numbers_of_different_classes_are_different_keys() {
        let mut map = JavaHashMap::default();
        map.put(Value::Int(1), ());
        map.put(Value::Long(1), ());
        map.put(Value::Double(f64::NAN), ());
        map.put(Value::Double(f64::NAN), ());
        map.put(Value::Double(0.0), ());
        map.put(Value::Double(-0.0), ());
        assert_eq!(map.len(), 5);
    }
}
