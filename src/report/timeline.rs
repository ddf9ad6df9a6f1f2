//! What each op did over wall-clock time, in few bins however long a run is: what runs are merged by.
//!
//! A bin is a power of two of seconds long and begins at a multiple of its length, so that the bins of all runs
//! on earth lie on each other, or in each other. A frame belongs to the bin of its middle. Where there are too many
//! bins, two neighbours become one; their histograms are added, so that no value is lost. All but the open bin are
//! kept packed.

use super::packed::{Packer, unpacked};
use super::{ReportError, Source};
use crate::metrics::Frame;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Bins that are kept of a run with few ops; of one with many ops, fewer.
const MOST_BINS: usize = 300;
/// Cells (an op in a bin) that are kept.
const MOST_CELLS: usize = 6_000;

/// One op in one bin. Histograms are packed; empty where nothing was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    pub ok: u64,
    pub errors: u64,
    pub service: Vec<u8>,
    pub response: Vec<u8>,
}

/// The bins of one activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Seconds, a power of two.
    bin: u64,
    /// By the number of the bin since 1970; in each, the ops in the order of the activity.
    bins: BTreeMap<u64, Vec<Cell>>,
    most: usize,
}

impl Timeline {
    /// For `ops` ops, in bins of `bin` seconds at first.
    pub fn new(ops: usize, bin: u64) -> Timeline {
        let most = (MOST_CELLS / ops.max(1)).clamp(8, MOST_BINS);
        Timeline { bin: bin.max(1).next_power_of_two(), bins: BTreeMap::new(), most }
    }

    /// Seconds of a bin.
    pub fn bin(&self) -> u64 {
        self.bin
    }

    /// The bins in order: where each begins, in seconds since 1970, and its ops.
    pub fn bins(&self) -> impl Iterator<Item = (u64, &[Cell])> {
        self.bins.iter().map(|(number, cells)| (number * self.bin, cells.as_slice()))
    }

    /// Adds what the ops did in the bin that holds the second `at` since 1970.
    ///
    /// # Errors
    /// A histogram that is none.
    pub fn add(&mut self, at: u64, cells: Vec<Cell>) -> Result<(), String> {
        let mut packer = Packer::new();
        self.put(at / self.bin, cells, &mut packer)?;
        while self.bins.len() > self.most {
            self.widen(&mut packer)?;
        }
        Ok(())
    }

    fn put(&mut self, number: u64, cells: Vec<Cell>, packer: &mut Packer) -> Result<(), String> {
        let there = self.bins.entry(number).or_default();
        there.resize_with(there.len().max(cells.len()), Cell::default);
        for (cell, more) in there.iter_mut().zip(cells) {
            cell.ok += more.ok;
            cell.errors += more.errors;
            join(&mut cell.service, more.service, packer)?;
            join(&mut cell.response, more.response, packer)?;
        }
        Ok(())
    }

    /// Two neighbours become one.
    fn widen(&mut self, packer: &mut Packer) -> Result<(), String> {
        self.bin *= 2;
        for (number, cells) in std::mem::take(&mut self.bins) {
            self.put(number / 2, cells, packer)?;
        }
        Ok(())
    }

    /// Adds another run's; `places` are the positions here of its ops.
    ///
    /// # Errors
    /// A histogram that is none.
    pub fn merge(&mut self, other: &Timeline, places: &[usize]) -> Result<(), String> {
        let mut packer = Packer::new();
        while self.bin < other.bin {
            self.widen(&mut packer)?;
        }
        for (from, cells) in other.bins() {
            let mut placed: Vec<Cell> = Vec::new();
            for (cell, place) in cells.iter().zip(places) {
                placed.resize_with(placed.len().max(place + 1), Cell::default);
                if let Some(free) = placed.get_mut(*place) {
                    *free = cell.clone();
                }
            }
            self.add(from, placed)?;
        }
        Ok(())
    }
}

fn join(into: &mut Vec<u8>, more: Vec<u8>, packer: &mut Packer) -> Result<(), String> {
    if into.is_empty() || more.is_empty() {
        into.extend(more);
        return Ok(());
    }
    let mut sum = unpacked(into)?;
    sum.add(unpacked(&more)?).map_err(|error| error.to_string())?;
    *into = packer.bytes(&sum).map_err(|error| error.to_string())?;
    Ok(())
}

/// Makes a timeline of the frames of an activity.
pub struct Builder {
    timeline: Timeline,
    packer: Packer,
    /// The bin that is not over: its number, and what the ops did in it.
    open: Option<(u64, Vec<OpenCell>)>,
}

#[derive(Clone)]
struct OpenCell {
    ok: u64,
    errors: u64,
    service: Histogram<u64>,
    response: Histogram<u64>,
}

impl Builder {
    pub fn new(ops: usize) -> Builder {
        Builder { timeline: Timeline::new(ops, 1), packer: Packer::new(), open: None }
    }

    pub fn push(&mut self, source: &Source, frame: &Frame) -> Result<(), ReportError> {
        let middle = source.started + frame.start + frame.length / 2;
        let at = middle.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let number = at / self.timeline.bin;
        if self.open.as_ref().is_some_and(|(open, _)| *open != number) {
            self.close()?;
        }
        let cells = frame.ops.iter().map(|op| OpenCell {
            ok: op.ok,
            errors: op.failed_ops(),
            service: op.service.clone(),
            response: op.response.clone(),
        });
        match &mut self.open {
            None => self.open = Some((number, cells.collect())),
            Some((_, there)) => {
                for (cell, more) in there.iter_mut().zip(cells) {
                    cell.ok += more.ok;
                    cell.errors += more.errors;
                    super::clock::add(&mut cell.service, &more.service);
                    super::clock::add(&mut cell.response, &more.response);
                }
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ReportError> {
        let Some((number, open)) = self.open.take() else { return Ok(()) };
        let mut pack = |histogram: &Histogram<u64>| match histogram.is_empty() {
            true => Ok(Vec::new()),
            false => self.packer.bytes(histogram),
        };
        let mut cells = Vec::with_capacity(open.len());
        for cell in &open {
            let (service, response) = (pack(&cell.service)?, pack(&cell.response)?);
            cells.push(Cell { ok: cell.ok, errors: cell.errors, service, response });
        }
        self.timeline.add(number * self.timeline.bin, cells).map_err(ReportError::Other)
    }

    pub fn finish(mut self) -> Result<Timeline, ReportError> {
        self.close()?;
        Ok(self.timeline)
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::{frame, source};
    use super::*;

    fn built(frames: impl IntoIterator<Item = Frame>) -> Timeline {
        let (mut builder, source) = (Builder::new(1), source(&["b__a"]));
        for frame in frames {
            builder.push(&source, &frame).expect("packed");
        }
        builder.finish().expect("packed")
    }

    /// All values of all bins.
    fn total(timeline: &Timeline) -> Histogram<u64> {
        let mut all = unpacked(&[]).unwrap_or_else(|_| Histogram::new(3).expect("3 digits"));
        for (_, cells) in timeline.bins() {
            for cell in cells.iter().filter(|cell| !cell.service.is_empty()) {
                all.add(unpacked(&cell.service).expect("a histogram")).expect("it grows");
            }
        }
        all
    }

    #[test]
    fn a_long_run_has_few_bins_and_all_of_its_values() {
        let frames = (0..5_000).map(|second| frame(second * 1_000, 1_000, &[second * 1_000 + 1]));
        let mut expected: Histogram<u64> = Histogram::new(3).expect("3 digits");
        (0..5_000).for_each(|second| expected.record(second * 1_000 + 1).expect("it grows"));
        let timeline = built(frames);
        assert_eq!(timeline.bin(), 32);
        assert!(timeline.bins().count() <= MOST_BINS);
        assert!(timeline.bins().all(|(from, _)| from % 32 == 0));
        assert_eq!(timeline.bins().map(|(_, cells)| cells[0].ok).sum::<u64>(), 5_000);
        assert_eq!(total(&timeline), expected);
    }

    #[test]
    fn a_frame_belongs_to_the_bin_of_its_middle() {
        // The clock of the activity started at 1,700,000,000.5 s.
        let timeline = built([frame(0, 900, &[1]), frame(900, 300, &[2, 3])]);
        let bins: Vec<(u64, u64)> = timeline.bins().map(|(from, cells)| (from, cells[0].ok)).collect();
        assert_eq!(bins, [(1_700_000_000, 1), (1_700_000_001, 2)]);
    }

    #[test]
    fn timelines_of_other_bins_and_other_ops_add_up() {
        let short = built([frame(0, 1_000, &[5])]);
        let long = built((0..700).map(|second| frame(second * 1_000, 1_000, &[7])));
        assert_eq!((short.bin(), long.bin()), (1, 4));
        for (first, second, places) in [(&short, &long, [1]), (&long, &short, [0])] {
            let mut merged = first.clone();
            merged.merge(second, &places).expect("histograms");
            assert_eq!(merged.bin(), 4);
            assert_eq!(total(&merged).len(), 701);
            let (from, cells) = merged.bins().next().expect("a bin");
            assert_eq!((from, cells.len()), (1_700_000_000, places[0] + 1));
        }
    }
}
