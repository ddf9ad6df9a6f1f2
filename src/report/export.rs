//! Reports that grow while a run goes on: logs, spreadsheets, what Prometheus reads. They are written by a thread
//! of their own, so that no disk or network holds up an op.

use super::clock::More;
use super::timeline::{Builder, Timeline};
use super::{ReportError, Run};
use crate::metrics::Frame;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// An activity whose frames come.
#[derive(Debug, Clone)]
pub struct Source {
    /// Position among the activities of the run.
    pub id: usize,
    pub alias: String,
    /// The path of the workload, or what stands for it.
    pub workload: String,
    /// `block__op`, in the order of the activity.
    pub ops: Vec<String>,
    /// Times that some of them ask for beside the usual ones.
    pub more: Vec<More>,
    /// It takes several cycles at a time, whose times are measured together.
    pub strides: bool,
    /// When its clock started,
    pub started: SystemTime,
    /// and how long after that of the run.
    pub offset: Duration,
}

impl Source {
    /// The name of a metric: `alias.block__op.family`, or `alias.family` of all ops together.
    pub fn metric(&self, op: Option<usize>, family: &str) -> String {
        match op.and_then(|op| self.ops.get(op)) {
            Some(op) => format!("{}.{op}.{family}", self.alias),
            None => format!("{}.{family}", self.alias),
        }
    }
}

/// Says what went wrong, when it does.
pub type Tell = Arc<dyn Fn(&ReportError) + Send + Sync>;

/// A report that grows.
pub trait Export: Send {
    /// Before anything else; `tell` is for what goes wrong beside the run.
    fn start(&mut self, tell: &Tell) -> Result<(), ReportError> {
        let _ = tell;
        Ok(())
    }
    /// An activity begins.
    fn begin(&mut self, source: &Source) -> Result<(), ReportError> {
        let _ = source;
        Ok(())
    }
    /// One interval of it that counts.
    fn frame(&mut self, source: &Source, frame: &Frame) -> Result<(), ReportError>;
    /// It has ended: no more frames of it will come.
    fn end(&mut self, source: &Source) -> Result<(), ReportError> {
        let _ = source;
        Ok(())
    }
    /// The run has ended. Gives the files that hold the report now.
    fn close(self: Box<Self>, run: &Run) -> Result<Vec<PathBuf>, ReportError>;
}

enum Message {
    Begin(Source),
    Frame(usize, Frame),
    End(usize),
    Close(Arc<Run>),
}

/// What became of all of them.
#[derive(Debug, Default)]
pub struct Closed {
    pub files: Vec<PathBuf>,
    /// By [`Source::id`], where they were asked for.
    pub timelines: HashMap<usize, Timeline>,
    /// At least one was not written; why was told.
    pub failed: bool,
}

/// All reports of a run that grow.
pub struct Exports {
    to: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Closed>>,
}

/// Frames that may wait to be written. Where the disk is slower than that, the run waits for it rather than for
/// the end of its memory.
const WAITING: usize = 64;

impl Exports {
    /// Starts the thread. A report that cannot be written is told once, when it happens, and then left alone.
    /// `timelines`: a timeline of each activity is wanted.
    pub fn start(
        mut list: Vec<Box<dyn Export>>,
        timelines: bool,
        tell: impl Fn(&ReportError) + Send + Sync + 'static,
    ) -> Result<Exports, ReportError> {
        if list.is_empty() && !timelines {
            return Ok(Exports { to: None, thread: None });
        }
        let tell: Tell = Arc::new(tell);
        for export in &mut list {
            export.start(&tell)?;
        }
        let (to, from) = sync_channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("nbrs-reports".to_owned())
            .spawn(move || write(list, timelines, &from, &*tell))
            .map_err(|error| {
                ReportError::Other(format!("cannot start the thread that writes reports: {error}"))
            })?;
        Ok(Exports { to: Some(to), thread: Some(thread) })
    }

    fn send(&self, message: impl FnOnce() -> Message) {
        if let Some(to) = &self.to {
            // A thread that broke down is told of by `close`.
            let _ = to.send(message());
        }
    }

    pub fn begin(&self, source: &Source) {
        self.send(|| Message::Begin(source.clone()));
    }

    /// The warm-up is in no report.
    pub fn frame(&self, id: usize, frame: &Frame) {
        if frame.warm_up {
            return;
        }
        self.send(|| Message::Frame(id, frame.clone()));
    }

    pub fn end(&self, id: usize) {
        self.send(|| Message::End(id));
    }

    /// Waits until all is written.
    pub fn close(mut self, run: Arc<Run>) -> Closed {
        self.send(|| Message::Close(run));
        self.join()
    }

    fn join(&mut self) -> Closed {
        self.to = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Closed::default(),
            Some(Ok(closed)) => closed,
            Some(Err(_)) => Closed { failed: true, ..Closed::default() },
        }
    }
}

/// Where nothing was run, files that hold nothing are taken away before the program ends.
impl Drop for Exports {
    fn drop(&mut self) {
        self.join();
    }
}

fn write(
    list: Vec<Box<dyn Export>>,
    timelines: bool,
    from: &Receiver<Message>,
    tell: &dyn Fn(&ReportError),
) -> Closed {
    let mut builders: HashMap<usize, Builder> = HashMap::new();
    let mut list: Vec<Option<Box<dyn Export>>> = list.into_iter().map(Some).collect();
    let mut sources: HashMap<usize, Source> = HashMap::new();
    let mut closed = Closed::default();
    while let Ok(message) = from.recv() {
        match message {
            Message::Begin(source) => {
                each(&mut list, &mut closed, tell, |export| export.begin(&source));
                if timelines {
                    builders.insert(source.id, Builder::new(source.ops.len()));
                }
                sources.insert(source.id, source);
            }
            Message::Frame(id, frame) => {
                let Some(source) = sources.get(&id) else { continue };
                each(&mut list, &mut closed, tell, |export| export.frame(source, &frame));
                let pushed = builders.get_mut(&id).map_or(Ok(()), |builder| builder.push(source, &frame));
                if let Err(error) = pushed {
                    tell(&error);
                    closed.failed = true;
                    builders.remove(&id);
                }
            }
            Message::End(id) => {
                let Some(source) = sources.remove(&id) else { continue };
                each(&mut list, &mut closed, tell, |export| export.end(&source));
                match builders.remove(&id).map(Builder::finish) {
                    None => {}
                    Some(Ok(timeline)) => drop(closed.timelines.insert(id, timeline)),
                    Some(Err(error)) => {
                        tell(&error);
                        closed.failed = true;
                    }
                }
            }
            Message::Close(run) => {
                for export in list.into_iter().flatten() {
                    match export.close(&run) {
                        Ok(files) => closed.files.extend(files),
                        Err(error) => {
                            if !matches!(error, ReportError::Said) {
                                tell(&error);
                            }
                            closed.failed = true;
                        }
                    }
                }
                break;
            }
        }
    }
    closed
}

fn each(
    list: &mut [Option<Box<dyn Export>>],
    closed: &mut Closed,
    tell: &dyn Fn(&ReportError),
    what: impl Fn(&mut Box<dyn Export>) -> Result<(), ReportError>,
) {
    for slot in list {
        if let Some(export) = slot
            && let Err(error) = what(export)
        {
            tell(&error);
            closed.failed = true;
            *slot = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::{frame, source};
    use super::*;
    use crate::report::figures::tests::run;
    use std::sync::Mutex;

    /// Counts frames and ops; fails at the frame of that number.
    struct Counting(Arc<Mutex<(u64, u64)>>, u64);

    impl Export for Counting {
        fn frame(&mut self, _: &Source, frame: &Frame) -> Result<(), ReportError> {
            let mut seen = self.0.lock().expect("not poisoned");
            seen.0 += 1;
            seen.1 += frame.ops[0].ok;
            if seen.0 == self.1 { Err(ReportError::Other("full".to_owned())) } else { Ok(()) }
        }
        fn close(self: Box<Self>, _: &Run) -> Result<Vec<PathBuf>, ReportError> {
            Ok(vec![PathBuf::from("counted")])
        }
    }

    /// What two exports saw of three frames, of which the first one fails at its second.
    fn counted(warm_up: bool) -> ((u64, u64), (u64, u64), Closed, u64) {
        let (failing, sound) = (Arc::default(), Arc::default());
        let told = Arc::new(Mutex::new(0));
        let tell = Arc::clone(&told);
        let list: Vec<Box<dyn Export>> =
            vec![Box::new(Counting(Arc::clone(&failing), 2)), Box::new(Counting(Arc::clone(&sound), 99))];
        let exports =
            Exports::start(list, true, move |_| *tell.lock().expect("not poisoned") += 1).expect("a thread");
        exports.begin(&source(&["b__a"]));
        for second in 0..3 {
            let frame = frame(second * 1_000, 1_000, &[1, 2]);
            exports.frame(0, &Frame { warm_up: warm_up && second == 0, ..frame });
        }
        exports.frame(7, &frame(0, 1_000, &[1]));
        exports.end(0);
        let closed = exports.close(Arc::new(run(Vec::new())));
        let (failing, sound) = (*failing.lock().expect("whole"), *sound.lock().expect("whole"));
        let told = *told.lock().expect("whole");
        (failing, sound, closed, told)
    }

    #[test]
    fn a_report_that_fails_is_told_once_and_the_others_go_on() {
        let (failing, sound, closed, told) = counted(false);
        assert_eq!((failing, sound), ((2, 4), (3, 6)));
        let counted = closed.timelines[&0].bins().map(|(_, cells)| cells[0].ok).sum::<u64>();
        assert_eq!(counted, 6);
        assert_eq!((closed.files, closed.failed, told), (vec![PathBuf::from("counted")], true, 1));
    }

    #[test]
    fn the_warm_up_is_in_no_report() {
        let (_, sound, ..) = counted(true);
        assert_eq!(sound, (2, 4));
    }
}
