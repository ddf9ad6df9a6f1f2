//! Histograms as bytes: HdrHistogram's V2 form, deflated, and in base 64 where they stand in a text. Exact: what
//! is unpacked counts what was packed.

use super::ReportError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// Packs; keeps the memory that it needs for that.
pub struct Packer(V2DeflateSerializer);

impl Packer {
    pub fn new() -> Packer {
        Packer(V2DeflateSerializer::new())
    }

    pub fn bytes(&mut self, histogram: &Histogram<u64>) -> Result<Vec<u8>, ReportError> {
        let mut bytes = Vec::new();
        match self.0.serialize(histogram, &mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(ReportError::Other(format!("a histogram cannot be encoded: {error}"))),
        }
    }

    /// In base 64: what HdrHistogram's readers of any language take.
    pub fn text(&mut self, histogram: &Histogram<u64>) -> Result<String, ReportError> {
        self.bytes(histogram).map(|bytes| STANDARD.encode(bytes))
    }
}

/// The histogram of packed bytes; it grows with what is added to it.
///
/// # Errors
/// What is wrong with the bytes, as a sentence.
pub fn unpacked(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    let mut source = bytes;
    let read: Histogram<u64> = Deserializer::new()
        .deserialize(&mut source)
        .map_err(|error| format!("a histogram cannot be decoded: {error}"))?;
    // One that was read holds no value beyond those that it was made for.
    let mut histogram = Histogram::new(3).map_err(|error| error.to_string())?;
    histogram.add(&read).map_err(|error| format!("a histogram cannot be decoded: {error}"))?;
    Ok(histogram)
}

/// The histogram of a text in base 64.
pub fn read(text: &str) -> Result<Histogram<u64>, String> {
    unpacked(&binary(text)?)
}

pub fn text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub fn binary(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("a histogram cannot be decoded: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_unpacked_counts_what_was_packed(values in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut histogram: Histogram<u64> = Histogram::new(3).expect("3 digits");
            for value in &values {
                histogram.record(*value).expect("it grows");
            }
            let mut read = read(&Packer::new().text(&histogram).expect("packed")).expect("unpacked");
            prop_assert_eq!(&read, &histogram);
            read.record(u64::MAX).expect("it grows");
        }

        #[test]
        fn bytes_that_are_no_histogram_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(unpacked(&bytes).is_err());
        }
    }

    #[test]
    fn text_that_is_no_histogram_is_an_error() {
        for text in ["", "no base 64!", "AAAA"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
