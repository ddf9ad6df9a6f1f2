//! What an activity does with dispensers that answer as a test tells them to.

use super::*;
use crate::adapters::{Failure, Outcome, Run, Scratch};
use crate::functions::Context;
use crate::metrics::ErrorCounts;
use crate::plan::BindError;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Runs a closure for each try, and counts how often each cycle was run.
struct Scripted<F> {
    script: F,
    /// One counter a cycle; a cycle beyond the last counts in `beyond`.
    runs: Vec<AtomicUsize>,
    beyond: AtomicUsize,
    /// Cycles that cannot be bound.
    unbound: Option<i64>,
}

enum Step {
    Now(Outcome),
    After(Duration, Outcome),
    Never,
    Panic,
}

impl<F: Fn(i64, usize) -> Step + Send + Sync + 'static> Scripted<F> {
    /// `script` is given the cycle and how often it ran before.
    fn new(cycles: usize, script: F) -> Arc<Self> {
        let runs = (0..cycles).map(|_| AtomicUsize::new(0)).collect();
        Arc::new(Scripted { script, runs, beyond: AtomicUsize::new(0), unbound: None })
    }

    fn runs(&self) -> Vec<usize> {
        assert_eq!(self.beyond.load(Relaxed), 0, "cycles out of range were run");
        self.runs.iter().map(|runs| runs.load(Relaxed)).collect()
    }
}

impl<F: Fn(i64, usize) -> Step + Send + Sync> Dispenser for Scripted<F> {
    fn bind(&self, cycle: i64, _: &mut Context, _: &mut Scratch) -> Result<(), BindError> {
        if self.unbound == Some(cycle) {
            return Err(BindError::Render { op: "b__op".into(), cycle, message: "no such thing".into() });
        }
        Ok(())
    }

    fn run<'a>(&'a self, cycle: i64, _: &'a mut Scratch) -> Run<'a> {
        let before = self.runs.get(cycle as usize).unwrap_or(&self.beyond).fetch_add(1, Relaxed);
        match (self.script)(cycle, before) {
            Step::Now(outcome) => Run::Ready(outcome),
            Step::After(delay, outcome) => Run::Pending(Box::pin(async move {
                tokio::time::sleep(delay).await;
                outcome
            })),
            Step::Never => Run::Pending(Box::pin(std::future::pending())),
            Step::Panic => panic!("an op broke"),
        }
    }
}

fn well() -> Outcome {
    Outcome { bytes_sent: 10, docs_returned: 1, ..Outcome::default() }
}

fn badly(name: &'static str, partial: bool) -> Outcome {
    let failure = Failure {
        name: name.into(),
        exception: Some("MongoCommandException"),
        message: format!("{name}: no"),
        partial,
        ..Failure::default()
    };
    Outcome { bytes_sent: 10, failure: Some(failure), ..Outcome::default() }
}

fn activity(cycles: u64, threads: usize, dispenser: Arc<dyn Dispenser>) -> Activity {
    Activity {
        alias: "test".into(),
        ops: vec![ActivityOp::new("b__op", dispenser)],
        sequence: vec![0],
        cycles: 0..cycles,
        threads,
        ..Activity::default()
    }
}

fn policy(text: &str) -> Policy {
    Policy::parse(text).expect("the policy is well formed")
}

#[derive(Default)]
struct Watcher {
    warnings: Mutex<Vec<String>>,
    frames: Mutex<Vec<(Duration, Duration, u64)>>,
}

impl Observer for Watcher {
    fn frame(&self, _: &str, frame: &Frame) {
        let attempted = frame.ops.iter().map(|op| op.attempted).sum();
        self.frames.lock().expect("no panic").push((frame.start, frame.length, attempted));
    }

    fn warn(&self, _: &str, op: &str, cycle: u64, name: &str, message: &str) {
        self.warnings.lock().expect("no panic").push(format!("{op} {cycle} {name} {message}"));
    }
}

async fn run(activity: Activity) -> ActivityResult {
    let watcher = Arc::new(Watcher::default());
    let result = start(activity, watcher.clone()).wait(Duration::from_secs(1)).await;
    check(&result, &watcher);
    result
}

/// What holds of every result.
fn check(result: &ActivityResult, watcher: &Watcher) {
    let mut seen = 0;
    for (op, totals) in result.totals.iter().enumerate() {
        let ended: u64 = totals.errors.values().map(|error| error.ended).sum();
        assert_eq!(totals.ok + ended, totals.attempted);
        assert_eq!(totals.ok, totals.service.len());
        assert_eq!(totals.ok, totals.response.len());
        assert!(totals.failed.len() <= ended);
        assert_eq!(totals.wait.len(), totals.service.len() + totals.failed.len());
        let of_op = |point: &&Point| point.op == op;
        assert_eq!(result.series.iter().filter(of_op).map(|point| point.ok).sum::<u64>(), totals.ok);
        assert_eq!(result.series.iter().filter(of_op).map(|point| point.errors).sum::<u64>(), ended);
        let abandoned = totals.errors.get(error_names::ABANDONED).map_or(0, |error| error.ended);
        let panicked = totals.errors.get(error_names::PANIC).map_or(0, |error| error.ended);
        seen += totals.attempted - abandoned - panicked;
        for value in [totals.service.mean(), totals.failed.mean(), totals.wait.stdev()] {
            assert!(value.is_finite());
        }
    }
    assert_eq!(result.cycles_done, seen);
    assert_eq!(result.ended == Ended::Complete, result.cycles_done == result.cycles_asked);
    // Frames follow each other without a gap and end with the activity.
    let frames = watcher.frames.lock().expect("no panic");
    let mut end = Duration::ZERO;
    for (start, length, _) in frames.iter() {
        assert_eq!(*start, end);
        end = *start + *length;
    }
    assert!(end + Duration::from_millis(50) >= result.elapsed);
    assert_eq!(
        frames.iter().map(|frame| frame.2).sum::<u64>(),
        result.totals.iter().map(|totals| totals.attempted).sum::<u64>()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cycle_is_run_once_a_pass_whatever_the_threads_and_the_stride() {
    let rows = [
        (100, 3, 1, 1),
        (3_000_017, 7, 1, 1),
        (50_000, 64, 7, 1),
        (1_000, 20, 30, 3),
        (1, 1000, 1, 1),
        (10, 4, 1000, 2),
        (0, 5, 1, 1),
    ];
    for (cycles, threads, stride, recycles) in rows {
        let noop = Scripted::new(cycles, |_, _| Step::Now(well()));
        let activity = Activity { stride, recycles, ..activity(cycles as u64, threads, noop.clone()) };
        let result = run(activity).await;
        assert_eq!(result.ended, Ended::Complete);
        assert_eq!(result.cycles_done, cycles as u64 * recycles);
        assert_eq!(result.totals[0].ok, cycles as u64 * recycles);
        assert_eq!(result.totals[0].bytes_sent, 10 * cycles as u64 * recycles);
        assert!(noop.runs().iter().all(|runs| *runs == recycles as usize), "{cycles} cycles");
    }
}

#[tokio::test]
async fn the_sequence_is_taken_at_the_absolute_cycle() {
    let first = Scripted::new(20, |_, _| Step::Now(well()));
    let second = Scripted::new(20, |_, _| Step::Now(well()));
    let op = |name: &str, dispenser: Arc<dyn Dispenser>| ActivityOp::new(name, dispenser);
    let result = run(Activity {
        ops: vec![op("b__first", first.clone()), op("b__second", second.clone())],
        sequence: vec![0, 1, 1],
        cycles: 4..10,
        ..activity(0, 2, first.clone())
    })
    .await;
    let ran = |op: &[usize]| (0..20).filter(|cycle| op[*cycle] == 1).collect::<Vec<_>>();
    assert_eq!(ran(&first.runs()), [6, 9]);
    assert_eq!(ran(&second.runs()), [4, 5, 7, 8]);
    assert_eq!(result.op_names, ["b__first", "b__second"]);
    assert_eq!((result.totals[0].ok, result.totals[1].ok), (2, 4));
}

#[tokio::test]
async fn an_op_may_come_after_another_in_the_same_cycle_and_ops_may_count_their_own_cycles() {
    let failing = |cycle: i64, _| Step::Now(if cycle == 4 { badly("Busy", false) } else { well() });
    let (first, then, last) =
        (Scripted::new(20, failing), Scripted::new(20, |_, _| Step::Now(well())), Scripted::new(20, failing));
    let op = |name: &str, dispenser: Arc<dyn Dispenser>| ActivityOp::new(name, dispenser);
    let activity = Activity {
        ops: vec![
            ActivityOp { then: Some(1), ..op("b__first", first.clone()) },
            ActivityOp { ordinals: Some(Ordinals::new(&[0, 2], 0)), ..op("b__then", then.clone()) },
            op("b__last", last.clone()),
        ],
        sequence: vec![0, 2],
        policy: policy("counter"),
        ..activity(10, 3, first.clone())
    };
    // It has more ops than cycles, which no other activity has.
    let result = start(activity, Arc::new(Watcher::default())).wait(Duration::from_secs(1)).await;
    let ran = |op: &[usize]| (0..20).filter(|cycle| op[*cycle] == 1).collect::<Vec<_>>();
    assert_eq!(ran(&first.runs()), [0, 2, 4, 6, 8]);
    // Cycle 4, which is its number 2, did not come so far.
    assert_eq!(ran(&then.runs()), [0, 1, 3, 4]);
    assert_eq!(ran(&last.runs()), [1, 3, 5, 7, 9]);
    assert_eq!((result.cycles_asked, result.cycles_done), (10, 10), "it counts cycles, not ops");
    assert_eq!(result.totals.iter().map(|op| op.attempted).collect::<Vec<_>>(), [5, 4, 5]);
}

#[tokio::test]
async fn without_a_rate_nothing_waits_and_response_time_is_service_time() {
    let slow = Scripted::new(20, |_, _| Step::After(Duration::from_millis(2), well()));
    let totals = &run(activity(20, 4, slow)).await.totals[0];
    assert_eq!(totals.response, totals.service);
    assert_eq!((totals.wait.len(), totals.wait.max()), (20, 0));
    assert!(totals.service.min() >= 2_000_000 - 2_000_000 / 1000);
}

#[tokio::test]
async fn stop_ends_after_the_cycle_each_thread_is_in() {
    let slow = Scripted::new(1_000_000, |_, _| Step::After(Duration::from_millis(5), well()));
    let watcher = Arc::new(Watcher::default());
    let running = start(Activity { stride: 1000, ..activity(1_000_000, 8, slow.clone()) }, watcher.clone());
    while running.progress().cycles_done < 20 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(running.progress().cycles_total, 1_000_000);
    assert!(running.progress().cycles_in_flight <= 8);
    let control = running.control();
    running.stop();
    let result = running.wait(Duration::from_secs(20)).await;
    check(&result, &watcher);
    assert_eq!(result.ended, Ended::Stopped);
    assert_eq!(slow.runs().iter().sum::<usize>() as u64, result.cycles_done);
    assert_eq!(result.totals[0].ok, result.cycles_done);
    assert_eq!(control.progress().cycles_in_flight, 0);
}

#[tokio::test]
async fn an_op_in_flight_longer_than_the_drain_limit_is_given_up_and_counted() {
    let stuck = Scripted::new(10, |cycle, _| if cycle < 6 { Step::Now(well()) } else { Step::Never });
    let watcher = Arc::new(Watcher::default());
    let running = start(activity(10, 3, stuck), watcher.clone());
    while running.progress().cycles_in_flight < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    running.stop();
    let result = running.wait(Duration::from_millis(20)).await;
    check(&result, &watcher);
    assert_eq!((result.ended, result.cycles_done), (Ended::Stopped, 6));
    let totals = &result.totals[0];
    assert_eq!((totals.ok, totals.attempted), (6, 9));
    assert_eq!(totals.errors[error_names::ABANDONED].ended, 3);
    assert!(totals.failed.min() >= 19_000_000, "{}", totals.failed.min());
}

#[tokio::test]
async fn threads_that_wait_for_a_start_stop_at_once() {
    let noop = Scripted::new(1000, |_, _| Step::Now(well()));
    let slow = Rate::new(0.01, 1.1);
    let running = start(
        Activity { cycle_rate: Some(Load::Rate(slow)), ..activity(1000, 50, noop) },
        Arc::new(Watcher::default()),
    );
    while running.progress().cycles_done == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    running.stop();
    let result = running.wait(Duration::from_secs(60)).await;
    assert_eq!((result.ended, result.cycles_done), (Ended::Stopped, 1));
    assert!(result.totals[0].errors.is_empty());
    assert!(result.elapsed < Duration::from_secs(50));
}

#[tokio::test]
async fn the_policy_decides_what_an_error_does() {
    // cycle 5 of 10 fails
    let rows = [
        // (errors=, partial, warned, run to the end)
        (None, false, false, false),
        (None, true, true, true),
        (Some("stop"), true, false, false),
        (Some("counter"), false, false, true),
        (Some("ignore"), false, false, true),
        (Some("warn"), false, true, true),
        (Some("warn,stop"), false, false, false),
        (Some("DuplicateKey:warn;stop"), true, true, true),
        (Some("MongoCommand.*:ignore"), false, false, true),
        (Some("SomethingElse:ignore"), false, false, false),
    ];
    for (text, partial, warned, complete) in rows {
        let script =
            move |cycle, _| Step::Now(if cycle == 5 { badly("DuplicateKey", partial) } else { well() });
        let dispenser = Scripted::new(10, script);
        let watcher = Arc::new(Watcher::default());
        let activity = Activity {
            policy: text.map_or_else(Policy::default, policy),
            ..activity(10, 1, dispenser.clone())
        };
        let result = start(activity, watcher.clone()).wait(Duration::from_secs(1)).await;
        check(&result, &watcher);
        let counts =
            ErrorCounts { ended: 1, first: 1, partial: u64::from(partial), ..ErrorCounts::default() };
        assert_eq!(result.totals[0].errors["DuplicateKey"], counts, "{text:?}");
        let failed = Ended::Failed {
            op: "b__op".into(),
            cycle: 5,
            name: "DuplicateKey".into(),
            message: "DuplicateKey: no".into(),
        };
        let (ended, done) = if complete { (Ended::Complete, 10) } else { (failed, 6) };
        assert_eq!((&result.ended, result.cycles_done), (&ended, done), "{text:?}");
        let warnings = watcher.warnings.lock().expect("no panic");
        let expected: &[&str] = if warned { &["b__op 5 DuplicateKey DuplicateKey: no"] } else { &[] };
        assert_eq!(*warnings, expected, "{text:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_error_name_is_warned_of_once() {
    let dispenser = Scripted::new(5000, |cycle, _| {
        Step::Now(badly(if cycle % 2 == 0 { "DuplicateKey" } else { "WriteConcernFailed" }, true))
    });
    let watcher = Arc::new(Watcher::default());
    let result = start(activity(5000, 10, dispenser), watcher.clone()).wait(Duration::from_secs(1)).await;
    check(&result, &watcher);
    assert_eq!(result.ended, Ended::Complete);
    assert_eq!(result.totals[0].errors["DuplicateKey"].partial, 2500);
    assert_eq!(watcher.warnings.lock().expect("no panic").len(), 2);
}

#[tokio::test]
async fn names_beyond_the_bound_are_counted_together() {
    let dispenser = Scripted::new(200, |cycle, _| {
        let mut outcome = badly("", false);
        if let Some(failure) = &mut outcome.failure {
            failure.name = format!("Error{cycle}").into();
        }
        Step::Now(outcome)
    });
    let result = run(Activity { policy: policy("warn"), ..activity(200, 1, dispenser) }).await;
    let errors = &result.totals[0].errors;
    assert_eq!(errors.len(), crate::metrics::MAX_ERROR_NAMES + 1);
    assert_eq!(errors[crate::metrics::OTHER_ERRORS].ended, 200 - crate::metrics::MAX_ERROR_NAMES as u64);
}

#[tokio::test]
async fn an_error_that_is_retried_and_then_passes_stays_visible() {
    let dispenser = Scripted::new(1, |_, before| {
        Step::Now(if before == 0 { badly("WriteConflict", false) } else { well() })
    });
    let result = run(Activity { policy: policy(".*:retry,counter"), ..activity(1, 1, dispenser) }).await;
    let totals = &result.totals[0];
    assert_eq!((totals.ok, totals.attempted, totals.retries, totals.bytes_sent), (1, 1, 1, 20));
    let counts = ErrorCounts { first: 1, retried: 1, ..ErrorCounts::default() };
    assert_eq!(totals.errors["WriteConflict"], counts);
    assert_eq!(totals.tries(), [(2, 1)].into());
    assert_eq!(result.series.iter().map(|point| point.errors).sum::<u64>(), 0);
    // From the first send to the last answer: the pause between the tries is part of the op.
    assert!(totals.service.min() >= 1_900_000);
}

#[tokio::test]
async fn retries_pause_ever_longer_unless_they_are_asked_for_at_once() {
    for (errors, least) in [("retry", Duration::from_millis(2 + 4 + 8)), ("retry=now", Duration::ZERO)] {
        let dispenser = Scripted::new(1, |_, before| {
            Step::Now(if before < 3 { badly("WriteConflict", false) } else { well() })
        });
        let result = run(Activity { policy: policy(errors), ..activity(1, 1, dispenser) }).await;
        let totals = &result.totals[0];
        assert_eq!((totals.ok, totals.retries, totals.tries()), (1, 3, [(4, 1)].into()), "{errors}");
        assert!(result.elapsed >= least, "{errors}: {:?}", result.elapsed);
    }
}

#[tokio::test]
async fn verbs_ask_for_result_codes_and_for_the_times_of_an_error() {
    let dispenser = Scripted::new(40, |cycle, _| {
        Step::Now(match cycle % 4 {
            0 => badly("WriteConflict", false),
            1 => badly("DuplicateKey", true),
            _ => well(),
        })
    });
    let errors = "WriteConflict:timer,code 5;DuplicateKey:counter,7";
    let result = run(Activity { policy: policy(errors), ..activity(40, 2, dispenser) }).await;
    let totals = &result.totals[0];
    assert_eq!(totals.result_codes, [(5, 10), (7, 10)].into());
    let timed: Vec<_> = totals.error_times.iter().map(|(name, times)| (name.as_str(), times.len())).collect();
    assert_eq!(timed, [("WriteConflict", 10)]);
}

#[tokio::test]
async fn an_error_is_matched_by_its_number_and_its_documents_are_counted() {
    let dispenser = Scripted::new(3, |_, _| {
        let mut outcome = badly("DuplicateKey", true);
        outcome.docs_written = 8;
        if let Some(failure) = &mut outcome.failure {
            (failure.code, failure.documents) = (Some(11000), 2);
        }
        Step::Now(outcome)
    });
    let policy = policy(".*11000.*:counter;.*:stop");
    let result = run(Activity { policy, ..activity(3, 1, dispenser) }).await;
    assert_eq!(result.ended, Ended::Complete);
    let totals = &result.totals[0];
    assert_eq!((totals.docs_written, totals.errors["DuplicateKey"].documents), (24, 6));
    assert_eq!(totals.errors["DuplicateKey"].ended, 3);
}

#[tokio::test]
async fn an_op_out_of_tries_ends_in_its_error_and_the_activity_goes_on() {
    let dispenser = Scripted::new(2, |cycle, _| {
        Step::Now(if cycle == 0 { badly("WriteConflict", false) } else { well() })
    });
    let activity = Activity { policy: policy("retry"), max_tries: 3, ..activity(2, 1, dispenser.clone()) };
    let result = run(activity).await;
    assert_eq!(result.ended, Ended::Complete);
    assert_eq!(dispenser.runs(), [3, 1]);
    let totals = &result.totals[0];
    assert_eq!((totals.ok, totals.attempted, totals.retries), (1, 2, 2));
    let counts = ErrorCounts { ended: 1, first: 1, retried: 2, given_up: 1, ..ErrorCounts::default() };
    assert_eq!(totals.errors["WriteConflict"], counts);
}

#[tokio::test]
async fn an_op_that_cannot_be_bound_is_an_error_like_others() {
    for (text, done) in [(None, 4), (Some("BindError:warn;stop"), 10)] {
        let mut dispenser = Scripted::new(10, |_, _| Step::Now(well()));
        Arc::get_mut(&mut dispenser).expect("not shared yet").unbound = Some(3);
        let policy = text.map_or_else(Policy::default, policy);
        let result = run(Activity { policy, ..activity(10, 1, dispenser.clone()) }).await;
        assert_eq!(result.cycles_done, done);
        assert_eq!(dispenser.runs()[3], 0);
        let totals = &result.totals[0];
        assert_eq!(totals.errors[error_names::BIND].ended, 1);
        assert_eq!(totals.failed.len(), 0);
        if text.is_none() {
            let Ended::Failed { cycle: 3, name, message, .. } = &result.ended else {
                panic!("{:?}", result.ended)
            };
            assert_eq!(name, error_names::BIND);
            assert!(message.contains("no such thing"), "{message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_op_that_panics_ends_the_activity_with_its_message() {
    let dispenser =
        Scripted::new(100_000, |cycle, _| if cycle == 50 { Step::Panic } else { Step::Now(well()) });
    let result = run(Activity { policy: policy("ignore"), ..activity(100_000, 4, dispenser) }).await;
    let Ended::Failed { op, cycle, name, message } = &result.ended else { panic!("{:?}", result.ended) };
    assert_eq!((op.as_str(), *cycle, name.as_str()), ("b__op", 50, error_names::PANIC));
    assert!(message.contains("an op broke"), "{message}");
    assert_eq!(result.totals[0].errors[error_names::PANIC].ended, 1);
}

#[tokio::test]
async fn a_panic_of_the_observer_is_a_failure_and_not_a_hang() {
    struct Broken;
    impl Observer for Broken {
        fn frame(&self, _: &str, _: &Frame) {
            panic!("cannot draw");
        }
    }
    let noop = Scripted::new(10, |_, _| Step::Now(well()));
    let result = start(activity(10, 1, noop), Arc::new(Broken)).wait(Duration::from_secs(1)).await;
    assert!(matches!(&result.ended, Ended::Failed { message, .. } if message.contains("cannot draw")));
}

#[tokio::test]
async fn cycles_without_ops_are_an_error() {
    let noop = Scripted::new(1, |_, _| Step::Now(well()));
    for sequence in [vec![], vec![0, 1]] {
        let result = run(Activity { sequence, ..activity(5, 1, noop.clone()) }).await;
        assert!(matches!(&result.ended, Ended::Failed { name, .. } if name == "NoOps"));
    }
}

#[tokio::test]
async fn fast_failures_leave_the_times_of_good_ops_alone() {
    let dispenser = Scripted::new(40, |cycle, _| match cycle % 2 {
        0 => Step::After(Duration::from_millis(20), well()),
        _ => Step::Now(badly("Interrupted", false)),
    });
    let result = run(Activity { policy: policy("counter"), ..activity(40, 4, dispenser) }).await;
    let totals = &result.totals[0];
    assert_eq!((totals.ok, totals.attempted), (20, 40));
    assert!(totals.service.value_at_quantile(0.01) >= 19_000_000);
    assert_eq!(totals.failed.len(), 20);
    assert!(totals.failed.value_at_quantile(0.5) < totals.service.min());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stall_shows_in_response_times_and_not_in_service_times() {
    // 1000/s for 600 cycles; at cycle 200 the target answers nothing for 300 ms.
    let stalled_until = Arc::new(Mutex::new(None::<Instant>));
    let dispenser = Scripted::new(600, move |cycle, _| {
        let mut until = stalled_until.lock().expect("no panic");
        if cycle == 200 {
            *until = Some(Instant::now() + Duration::from_millis(300));
        }
        let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        Step::After(left, well())
    });
    let rate = Rate::new(1000.0, 1.1);
    let result = run(Activity { cycle_rate: Some(Load::Rate(rate)), ..activity(600, 5, dispenser) }).await;
    let totals = &result.totals[0];
    assert_eq!(totals.ok, 600);
    // Only the 5 ops that were in flight met the stall, but some 300 were due while it lasted.
    let slow = |histogram: &hdrhistogram::Histogram<u64>| histogram.count_between(100_000_000, u64::MAX);
    assert!((1..=50).contains(&slow(&totals.service)), "{}", slow(&totals.service));
    assert!(slow(&totals.response) >= 180, "{}", slow(&totals.response));
    assert!(totals.response.max() >= 290_000_000);
    assert!(result.elapsed >= Duration::from_millis(598));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_slower_than_the_rate_leaves_a_backlog() {
    let dispenser = Scripted::new(600, |_, _| Step::After(Duration::from_millis(2), well()));
    let rate = Rate::new(100_000.0, 1.1);
    let watcher = Arc::new(Watcher::default());
    let running = start(
        Activity { cycle_rate: Some(Load::Rate(rate)), ..activity(600, 1, dispenser) },
        watcher.clone(),
    );
    while running.progress().cycles_done < 20 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let progress = running.progress();
    assert!(progress.backlog > 300 && progress.backlog <= 600, "{progress:?}");
    let result = running.wait(Duration::from_secs(1)).await;
    check(&result, &watcher);
    let totals = &result.totals[0];
    assert!(totals.response.max() >= 600 * 2_000_000);
    assert!(result.backlog > 0 && result.backlog < 600, "{}", result.backlog);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_the_rate_is_no_part_of_an_ops_time() {
    let noop = Scripted::new(10, |_, _| Step::Now(well()));
    let rate = Rate::new(100.0, 1.1);
    let result = run(Activity { cycle_rate: Some(Load::Rate(rate)), ..activity(10, 10, noop) }).await;
    assert!(result.elapsed >= Duration::from_millis(90), "{:?}", result.elapsed);
    assert!(result.totals[0].service.max() < 50_000_000, "10 threads waited up to 90 ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cycles_at_a_rate_take_their_whole_share_of_time() {
    // The last of 500 starts is due after 499 ms.
    let noop = Scripted::new(500, |_, _| Step::Now(well()));
    let rate = Rate::new(1000.0, 1.1);
    let result = run(Activity { cycle_rate: Some(Load::Rate(rate)), ..activity(500, 5, noop) }).await;
    assert!(result.elapsed >= Duration::from_millis(500), "{:?}", result.elapsed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_thread_does_not_hold_up_the_others() {
    // The thread that meets cycle 0 is busy for as long as all others need together.
    let dispenser = Scripted::new(1000, |cycle, _| match cycle {
        0 => Step::After(Duration::from_millis(100), well()),
        _ => Step::After(Duration::from_millis(1), well()),
    });
    let in_flight = Arc::new(AtomicU64::new(0));
    let running = start(activity(1000, 32, dispenser), Arc::new(Watcher::default()));
    while running.progress().cycles_done < 900 {
        in_flight.fetch_max(running.progress().cycles_in_flight, Relaxed);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(running.wait(Duration::from_secs(1)).await.cycles_done, 1000);
    assert!(in_flight.load(Relaxed) >= 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_cost_tasks_and_not_histograms() {
    let noop = Scripted::new(40_000, |_, _| Step::Now(well()));
    let running = start(activity(40_000, 20_000, noop), Arc::new(Watcher::default()));
    assert_eq!(running.control.shared.recorder.shards(), 2);
    assert_eq!(running.wait(Duration::from_secs(1)).await.cycles_done, 40_000);
}

fn at_rate(per_second: f64) -> Option<Load> {
    Some(Load::Rate(Rate::new(per_second, 1.1)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_ends_an_activity_before_its_cycles_and_cycles_before_its_time() {
    let noop = Scripted::new(100_000, |_, _| Step::After(Duration::from_millis(1), well()));
    let duration = Some(Duration::from_millis(60));
    let result = run(Activity { duration, ..activity(100_000, 4, noop.clone()) }).await;
    assert_eq!(result.ended, Ended::TimeUp);
    assert!(result.cycles_done > 0 && result.cycles_done < 100_000);
    assert_eq!(noop.runs().iter().sum::<usize>() as u64, result.cycles_done, "what was begun was finished");
    assert!(result.elapsed >= Duration::from_millis(60));

    let noop = Scripted::new(100, |_, _| Step::Now(well()));
    let duration = Some(Duration::from_secs(3600));
    assert_eq!(run(Activity { duration, ..activity(100, 4, noop) }).await.ended, Ended::Complete);
}

#[tokio::test]
async fn a_late_op_is_waited_for_when_the_time_is_over_but_not_when_somebody_asks() {
    let late = || Scripted::new(1, |_, _| Step::After(Duration::from_millis(200), well()));
    let duration = Some(Duration::from_millis(20));
    let watcher = Arc::new(Watcher::default());
    // The drain that a stop has would not be enough.
    let running = start(Activity { duration, ..activity(1, 1, late()) }, watcher);
    let result = running.wait(Duration::from_millis(1)).await;
    assert_eq!((result.ended, result.totals[0].ok), (Ended::Complete, 1));

    let stuck = Scripted::new(1, |_, _| Step::Never);
    let running = start(Activity { duration, ..activity(1, 1, stuck) }, Arc::new(Watcher::default()));
    let control = running.control();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(60)).await;
        control.stop();
    });
    let result = running.wait(Duration::from_millis(20)).await;
    assert_eq!(result.ended, Ended::Stopped);
    assert_eq!(result.totals[0].errors[error_names::ABANDONED].ended, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_run_before_the_warm_up_ends_is_not_counted() {
    // The first ops are slow, as those of a cold target are.
    let dispenser = Scripted::new(1000, |cycle, _| match cycle {
        0..50 => Step::After(Duration::from_millis(20), well()),
        _ => Step::After(Duration::from_millis(1), well()),
    });
    let warm_up = Duration::from_millis(300);
    let result =
        start(Activity { warm_up, ..activity(1000, 10, dispenser.clone()) }, Arc::new(Watcher::default()))
            .wait(Duration::from_secs(1))
            .await;
    assert_eq!((result.ended, result.cycles_done), (Ended::Complete, 1000));
    let warm = result.warm_up.expect("there was one");
    assert!(warm.elapsed >= warm_up);
    assert_eq!(warm.cycles + result.totals[0].attempted, 1000);
    assert_eq!(result.series.iter().map(|point| point.ok).sum::<u64>(), result.totals[0].ok);
    assert!(result.series.iter().all(|point| point.at > warm.elapsed));
    assert!(dispenser.runs().iter().all(|runs| *runs == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strides_start_at_their_rate_and_their_cycles_are_due_with_them() {
    let noop = Scripted::new(200, |_, _| Step::Now(well()));
    let stride_rate = Some(Rate::new(100.0, 1.1));
    let result = run(Activity { stride_rate, stride: 10, ..activity(200, 4, noop) }).await;
    // The last of 20 strides is due after 190 ms.
    assert!(result.elapsed >= Duration::from_millis(190), "{:?}", result.elapsed);
    assert_eq!((result.totals[0].ok, result.totals[0].wait.len()), (200, 200));
    let target = result.target.expect("there is a rate");
    assert!((target - 1000.0).abs() < 1.0, "{target}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_of_each_thread_holds_for_each_thread() {
    let noop = Scripted::new(100, |_, _| Step::Now(well()));
    let rate = Rate { each_thread: true, ..Rate::new(100.0, 1.1) };
    let result = run(Activity { cycle_rate: Some(Load::Rate(rate)), ..activity(100, 5, noop) }).await;
    // 20 cycles each at 100/s; all five begin at once.
    assert!(result.elapsed >= Duration::from_millis(185), "{:?}", result.elapsed);
    assert!((result.target.expect("a rate") - 500.0).abs() < 1.0);
    assert_eq!(result.totals[0].ok, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_ops_start_when_they_are_due_however_many_are_in_flight() {
    // 1000/s of 100 ms each: 100 at once, where 4 threads would start 40/s.
    let slow = Scripted::new(400, |_, _| Step::After(Duration::from_millis(100), well()));
    let open = |most| Activity {
        cycle_rate: at_rate(1000.0),
        max_in_flight: Some(most),
        ..activity(400, 4, slow.clone())
    };
    let running = start(open(1000), Arc::new(Watcher::default()));
    let mut most = 0;
    while running.progress().cycles_done < 300 {
        most = most.max(running.progress().cycles_in_flight);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let result = running.wait(Duration::from_secs(1)).await;
    assert_eq!(result.totals[0].ok, 400);
    assert!(most >= 50, "{most} at once");
    // With a bound the rest waits.
    let running = start(open(7), Arc::new(Watcher::default()));
    let mut most = 0;
    while running.progress().cycles_done < 50 {
        most = most.max(running.progress().cycles_in_flight);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    running.stop();
    running.wait(Duration::from_secs(1)).await;
    assert!((4..=7).contains(&most), "{most} at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_cut_off_is_completed_with_each_cycle_done_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.journal");
    // Cycle 500 never comes back, cycle 520 ends the run.
    let first = Scripted::new(1000, |cycle, _| match cycle {
        500 => Step::Never,
        // Not before 500 has begun, and with much left to do then.
        520 => Step::After(Duration::from_millis(50), badly("HostUnreachable", false)),
        521.. => Step::After(Duration::from_millis(1), well()),
        _ => Step::Now(well()),
    });
    let open = || Some(Journal::open(&path, "", 2000).expect("a journal"));
    let activity =
        |dispenser| Activity { journal: open(), recycles: 2, stride: 7, ..activity(1000, 3, dispenser) };
    let result =
        start(activity(first.clone()), Arc::new(Watcher::default())).wait(Duration::from_millis(10)).await;
    assert!(matches!(&result.ended, Ended::Failed { cycle: 520, .. }), "{:?}", result.ended);
    let journal = open().expect("a journal");
    assert_eq!(journal.unknown(), (1, std::slice::from_ref(&(500..501))));
    let before = journal.done_before();
    assert_eq!(before + 1, result.cycles_done, "all but the one that failed");
    drop(journal);

    let second = Scripted::new(1000, |_, _| Step::Now(well()));
    let result =
        start(activity(second.clone()), Arc::new(Watcher::default())).wait(Duration::from_secs(1)).await;
    assert_eq!(result.ended, Ended::Complete);
    assert_eq!((result.cycles_before, result.cycles_done), (before, 2000 - before));
    for (cycle, (first, second)) in first.runs().iter().zip(second.runs()).enumerate() {
        // Two passes; what was in flight, and what failed, ran again.
        let again = usize::from(cycle == 500 || cycle == 520);
        assert_eq!(first + second, 2 + again, "cycle {cycle}");
    }
    let result = start(activity(second), Arc::new(Watcher::default())).wait(Duration::from_secs(1)).await;
    assert_eq!((result.ended, result.cycles_done), (Ended::Complete, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strides_are_timed_from_when_they_are_due_to_their_last_cycle() {
    let ops = |cycle| {
        if cycle % 5 == 4 { Step::After(Duration::from_millis(20), well()) } else { Step::Now(well()) }
    };
    let scripted = Scripted::new(23, move |cycle, _| ops(cycle));
    let stride_rate = Some(Rate::new(1_000.0, 1.1));
    let result = run(Activity { stride: 5, stride_rate, ..activity(23, 1, scripted) }).await;
    let strides = &result.totals[0].strides;
    assert_eq!(strides.len(), 5, "the last is short");
    // The second waits for the first: its time counts from when it was due.
    assert!(strides.max() >= 70_000_000, "{}", strides.max());
    let one = Scripted::new(9, |_, _| Step::Now(well()));
    assert!(
        run(activity(9, 2, one)).await.totals[0].strides.is_empty(),
        "a stride of one cycle is its cycle"
    );
}

/// What an activity tells besides its frames.
#[derive(Default)]
struct Told {
    behind: Mutex<Vec<Behind>>,
    stalls: Mutex<Vec<Stall>>,
}

impl Observer for Told {
    fn behind(&self, _: &str, behind: Behind) {
        self.behind.lock().expect("no panic").push(behind);
    }

    fn stalled(&self, _: &str, stall: &Stall) {
        self.stalls.lock().expect("no panic").push(stall.clone());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_that_wait_for_a_busy_thread_are_told_of_once_an_interval() {
    let slow = Scripted::new(10_000, |_, _| Step::After(Duration::from_millis(10), well()));
    let told = Arc::new(Told::default());
    let duration = Some(Duration::from_millis(2_500));
    let result =
        start(Activity { duration, cycle_rate: at_rate(1000.0), ..activity(10_000, 1, slow) }, told.clone())
            .wait(Duration::from_secs(1))
            .await;
    let behind = told.behind.lock().expect("no panic");
    assert_eq!(behind.len(), 2);
    assert!(behind[0].threads == 1 && behind[0].in_flight == 1 && behind[1].backlog > behind[0].backlog);
    assert_eq!((result.client.late_intervals, result.client.busy), (2, 1.0));
    assert!(result.backlog_left > 1_500, "{}", result.backlog_left);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_activity_in_which_nothing_ends_says_what_is_in_flight() {
    let stuck = Scripted::new(10, |cycle, _| if cycle < 5 { Step::Now(well()) } else { Step::Never });
    let told = Arc::new(Told::default());
    let stall = Duration::from_millis(500);
    let running = start(Activity { stall, ..activity(10, 2, stuck) }, told.clone());
    while told.stalls.lock().expect("no panic").is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.stop();
    running.wait(Duration::ZERO).await;
    let stalls = told.stalls.lock().expect("no panic");
    assert_eq!(stalls[0].in_flight, 2);
    let mut cycles: Vec<_> = stalls[0].examples.clone();
    cycles.sort();
    assert_eq!(cycles, [("b__op".to_owned(), 5), ("b__op".to_owned(), 6)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_is_found_with_the_time_to_recover() {
    // The target refuses everything from 300 ms to 1.8 s of the run.
    let begun = Instant::now();
    let dispenser = Scripted::new(100_000, move |_, _| {
        let at = begun.elapsed();
        let down = (Duration::from_millis(300)..Duration::from_millis(1_800)).contains(&at);
        Step::After(Duration::from_millis(1), if down { badly("NotWritablePrimary", false) } else { well() })
    });
    let duration = Some(Duration::from_millis(2_500));
    let activity = Activity { policy: policy("retry"), duration, ..activity(100_000, 4, dispenser) };
    let result = start(activity, Arc::new(Watcher::default())).wait(Duration::from_secs(1)).await;
    assert_eq!(result.ended, Ended::TimeUp);
    assert_eq!(result.outages.len(), 1, "{:?}", result.outages);
    let outage = result.outages[0];
    let length = outage.to.expect("it recovered") - outage.from;
    assert!(length >= Duration::from_millis(1_490) && length < Duration::from_millis(2_400), "{length:?}");
    assert!(result.totals[0].errors["NotWritablePrimary"].retried > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_op_alone_is_no_outage() {
    let dispenser = Scripted::new(3, |_, _| Step::Now(well()));
    let result = run(Activity { cycle_rate: at_rate(0.8), ..activity(3, 1, dispenser) }).await;
    assert_eq!(result.outages, []);
}
