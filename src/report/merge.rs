//! `nbrs merge`: several runs as one. What they did at the same time is added, histograms exactly; their
//! intervals lie on each other by wall clock.
//!
//! An activity is the same where its alias is (the first of that alias with the first, and so on), an op where its
//! name is.

use super::packed::unpacked;
use super::timeline::{Cell, Timeline};
use super::{Activity, Ended, Merged, Op, Run, Status, Target};
use crate::metrics::{Client, ConnectionPoint, OpStats, Outage, Point, Quantiles, ServerPoint, WarmUp};
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

/// The runs of files, as one; `command` is what asked for that.
///
/// # Errors
/// Runs that cannot be one, as a sentence.
pub fn merge(runs: Vec<(String, Run)>, command: String) -> Result<Run, String> {
    for (at, (name, run)) in runs.iter().enumerate() {
        if let Some((other, _)) = runs[..at].iter().find(|(_, other)| overlap(run, other)) {
            return Err(format!("{other} and {name} hold the same run, which would count twice"));
        }
        if run.max_rate.is_some() {
            return Err(format!("{name} is a search of findmax, whose probes are no parts of one run"));
        }
    }
    let Some(started) = runs.iter().map(|(_, run)| run.started).min() else {
        return Err("there is no run to merge".to_owned());
    };
    let end = runs.iter().map(|(_, run)| run.started + run.elapsed).max().unwrap_or(started);
    // The activities of one alias, in the order in which aliases first come.
    let mut groups: Vec<Vec<&Activity>> = Vec::new();
    let mut places: HashMap<(&str, usize), usize> = HashMap::new();
    for (_, run) in &runs {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for activity in &run.activities {
            let times = seen.entry(&activity.alias).or_default();
            let place = *places.entry((&activity.alias, *times)).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            *times += 1;
            if let Some(group) = groups.get_mut(place) {
                group.push(activity);
            }
        }
    }
    let uris = || runs.iter().map(|(_, run)| run.target.as_ref().and_then(|target| target.uri.as_ref()));
    let one_target = uris().all(|uri| uri == uris().next().flatten());
    let activities = groups.iter().enumerate().map(|(id, parts)| activity(id, parts, one_target));
    let activities = activities.collect::<Result<_, _>>()?;
    let parts = runs.iter().flat_map(|(_, run)| match run.merged.as_slice() {
        [] => vec![Merged {
            command: run.command.clone(),
            started: run.started,
            elapsed: run.elapsed,
            status: run.status,
        }],
        // Merged before.
        parts => parts.to_vec(),
    });
    let mut fail_if: Vec<String> = runs.iter().flat_map(|(_, run)| run.fail_if.clone()).collect();
    fail_if.sort();
    fail_if.dedup();
    Ok(Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        started,
        elapsed: end.duration_since(started).unwrap_or_default(),
        status: runs
            .iter()
            .map(|(_, run)| run.status)
            .max_by_key(|status| severity(*status))
            .unwrap_or(Status::Done),
        target: target(runs.iter().filter_map(|(_, run)| run.target.as_ref())),
        merged: parts.collect(),
        activities,
        fail_if,
        ycsb: runs.first().map(|(_, run)| run.ycsb.clone()).unwrap_or_default(),
        max_rate: None,
    })
}

/// They are the same run, or one was merged of what the other is or was merged of.
fn overlap(a: &Run, b: &Run) -> bool {
    let merged = !a.merged.is_empty() || !b.merged.is_empty();
    same(a, b) || merged && parts(a).iter().any(|part| parts(b).contains(part))
}

/// What tells the runs apart of which `run` was merged; itself, if of none.
fn parts(run: &Run) -> Vec<(SystemTime, Duration, &str)> {
    match &run.merged[..] {
        [] => vec![(run.started, run.elapsed, &*run.command)],
        merged => merged.iter().map(|part| (part.started, part.elapsed, &*part.command)).collect(),
    }
}

fn same(a: &Run, b: &Run) -> bool {
    (a.started, a.elapsed, &a.command) == (b.started, b.elapsed, &b.command)
        && a.activities
            .iter()
            .map(|activity| activity.started)
            .eq(b.activities.iter().map(|activity| activity.started))
}

/// What most deserves to be told.
fn severity(status: Status) -> u8 {
    match status {
        Status::Done => 0,
        Status::FailIf => 1,
        Status::Failed => 2,
        Status::Interrupted => 3,
        Status::Terminated => 4,
        Status::Unreachable => 5,
        Status::Misconfigured => 6,
    }
}

/// What all targets share; their addresses side by side.
fn target<'a>(targets: impl Iterator<Item = &'a Target>) -> Option<Target> {
    targets.fold(None, |sum: Option<Target>, target| {
        let Some(mut sum) = sum else { return Some(target.clone()) };
        let agree = |a: Option<String>, b: &Option<String>| a.filter(|a| b.as_ref() == Some(a));
        if sum.kind != target.kind {
            sum.kind = format!("{}, {}", sum.kind, target.kind);
        }
        sum.version = agree(sum.version, &target.version);
        sum.topology = agree(sum.topology, &target.topology);
        sum.uri = match (sum.uri, &target.uri) {
            (Some(a), Some(b)) if a.split(", ").all(|one| one != b) => Some(format!("{a}, {b}")),
            (a, b) => a.or_else(|| b.clone()),
        };
        sum.settings.retain(|setting| target.settings.contains(setting));
        sum.embedded |= target.embedded;
        Some(sum)
    })
}

fn activity(id: usize, parts: &[&Activity], one_target: bool) -> Result<Activity, String> {
    let Some(first) = parts.first() else { return Err("there is no activity to merge".to_owned()) };
    let started = parts.iter().map(|part| part.started).min().unwrap_or(first.started);
    let since = |time: SystemTime| time.duration_since(started).unwrap_or_default();
    let end = parts.iter().map(|part| part.started + part.elapsed).max().unwrap_or(started);
    let mut ops: Vec<Op> = Vec::new();
    let mut timeline: Option<Timeline> = None;
    let mut placed: Vec<Placed> = Vec::new();
    for &part in parts {
        let mut places = Vec::new();
        for op in &part.ops {
            let place = ops.iter().position(|there| there.name == op.name).unwrap_or_else(|| {
                ops.push(Op { stats: OpStats::default(), ..op.clone() });
                ops.len() - 1
            });
            places.push(place);
            if let Some(there) = ops.get_mut(place) {
                there.stats.add(&op.stats);
            }
        }
        let Some(own) = &part.timeline else {
            return Err(format!("activity {} has no timeline to merge by", part.alias));
        };
        timeline.get_or_insert_with(|| Timeline::new(part.ops.len(), own.bin())).merge(own, &places)?;
        placed.push((part, places));
    }
    let warm_up = parts.iter().any(|part| part.warm_up.is_some()).then(|| {
        let counted = |part: &&Activity| part.started + part.warm_up.unwrap_or_default().elapsed;
        WarmUp {
            elapsed: since(parts.iter().map(counted).min().unwrap_or(started)),
            cycles: parts.iter().map(|part| part.warm_up.unwrap_or_default().cycles).sum(),
        }
    });
    let sum = |of: fn(&Activity) -> u64| parts.iter().map(|part| of(part)).sum::<u64>();
    let counted = warm_up.unwrap_or_default().elapsed;
    let series =
        timeline.as_ref().map(|timeline| series(&placed, timeline, ops.len(), started, counted, end));
    let series = series.transpose()?;
    Ok(Activity {
        id,
        alias: first.alias.clone(),
        workload: first.workload.clone(),
        scenario: first.scenario.clone(),
        step: first.step.clone(),
        started,
        elapsed: since(end),
        closing: parts.iter().filter_map(|part| part.closing).max(),
        cycles_asked: parts
            .iter()
            .map(|part| part.cycles_asked)
            .reduce(|sum, asked| Some(sum?.saturating_add(asked?)))
            .flatten(),
        cycles_done: sum(|part| part.cycles_done),
        cycles_before: sum(|part| part.cycles_before),
        threads: parts.iter().map(|part| part.threads).sum(),
        target: parts.iter().map(|part| part.target).sum(),
        backlog: sum(|part| part.backlog),
        backlog_left: sum(|part| part.backlog_left),
        client: client(parts),
        outages: outages(parts, started),
        warm_up,
        server: if one_target { server(parts, started) } else { Vec::new() },
        connections: connections(parts, started),
        ended: parts
            .iter()
            .map(|part| &part.ended)
            .max_by_key(|ended| match ended {
                Ended::Complete => 0,
                Ended::TimeUp => 1,
                Ended::Stopped(_) => 2,
                Ended::Unwritten(_) => 3,
                Ended::Failed { .. } => 4,
            })
            .cloned()
            .unwrap_or(Ended::Complete),
        ops,
        series: series.unwrap_or_default(),
        timeline,
    })
}

/// What each op of a part is of the whole: the part, and the places of its ops.
type Placed<'a> = (&'a Activity, Vec<usize>);

/// Intervals of a merged series; as in a series that a run makes.
const MOST_INTERVALS: u64 = 7_200;

/// Since 1970; the moment when an interval of an activity was half over.
fn middle(activity: &Activity, point: &Point) -> Duration {
    let middle = activity.started + point.at.saturating_sub(point.length / 2);
    middle.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Seconds of an interval of a part, as a power of two: its series may have become coarser as it went on.
fn usual_interval(activity: &Activity) -> u64 {
    let mut ends: Vec<Duration> = activity.series.iter().map(|point| point.at).collect();
    ends.sort();
    ends.dedup();
    let began = activity.warm_up.unwrap_or_default().elapsed;
    let Some(last) = ends.last() else { return 1 };
    let seconds = last.saturating_sub(began).as_secs_f64() / ends.len() as f64;
    (seconds.round() as u64).clamp(1, 1 << 32).next_power_of_two()
}

/// A point an op and interval. What was counted is of the interval, which is as long as those of the part with the
/// longest; the quantiles, which cannot be had from those of parts, are of the bin of the timeline that it lies in.
/// Each begins where the one before ended, the first when the warm-up had ended: what was done in a second of which
/// there is nothing is in the next one.
fn series(
    parts: &[Placed],
    timeline: &Timeline,
    ops: usize,
    started: SystemTime,
    counted: Duration,
    end: SystemTime,
) -> Result<Vec<Point>, String> {
    let second = |n: u64| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(n)).unwrap_or(end);
    let finest = parts.iter().map(|(part, _)| usual_interval(part)).max().unwrap_or(1);
    let mut every = finest.min(timeline.bin());
    let whole = end.duration_since(started).unwrap_or_default().as_secs();
    while whole / every > MOST_INTERVALS && every < timeline.bin() {
        every *= 2;
    }
    // Where an interval begins → ok ops and errors, by op.
    let mut intervals: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for (part, places) in parts {
        for point in &part.series {
            let from = middle(part, point).as_secs() / every * every;
            let counts = intervals.entry(from).or_insert_with(|| vec![(0, 0); ops]);
            if let Some((ok, errors)) = places.get(point.op).and_then(|place| counts.get_mut(*place)) {
                *ok += point.ok;
                *errors += point.errors;
            }
        }
    }
    let quantiles = |bytes: &[u8]| match bytes {
        [] => Ok(Quantiles::default()),
        bytes => unpacked(bytes).map(|histogram: Histogram<u64>| Quantiles::of(&histogram)),
    };
    let mut bins: BTreeMap<u64, Vec<[Quantiles; 2]>> = BTreeMap::new();
    for (from, cells) in timeline.bins() {
        let of_cell = |cell: &Cell| Ok([quantiles(&cell.service)?, quantiles(&cell.response)?]);
        bins.insert(from, cells.iter().map(of_cell).collect::<Result<_, String>>()?);
    }
    let mut points = Vec::new();
    let mut before = counted;
    for (from, counts) in intervals {
        let to = second(from + every).min(end);
        // In whole milliseconds, as a result file has it: what is read from one is drawn as what was written.
        let at = to.duration_since(started).unwrap_or_default().as_millis();
        let at = Duration::from_millis(u64::try_from(at).unwrap_or(u64::MAX)).max(before);
        let bin = bins.get(&(from / timeline.bin() * timeline.bin()));
        for (op, (ok, errors)) in counts.into_iter().enumerate() {
            let measured = bin.and_then(|bin| bin.get(op)).filter(|_| ok > 0);
            let [service, response] = measured.copied().unwrap_or_default();
            points.push(Point { at, length: at.saturating_sub(before), op, ok, errors, service, response });
        }
        before = at;
    }
    Ok(points)
}

/// The client that was worst off.
fn client(parts: &[&Activity]) -> Client {
    let clients = || parts.iter().map(|part| &part.client);
    let late: u64 = clients().map(|client| client.late_intervals).sum();
    let busy: f64 = clients().map(|client| client.busy * client.late_intervals as f64).sum();
    Client {
        cpu: clients().filter_map(|client| client.cpu).reduce(f64::max),
        lateness: clients().map(|client| client.lateness).max().unwrap_or_default(),
        late_intervals: late,
        busy: if late > 0 { busy / late as f64 } else { 0.0 },
        memory: clients().filter_map(|client| client.memory).max(),
        swapped: clients().map(|client| client.swapped).max().unwrap_or(0),
    }
}

/// The times in which no op of any part ended well.
fn outages(parts: &[&Activity], started: SystemTime) -> Vec<Outage> {
    /// Shorter ones are none.
    const SHORTEST: Duration = Duration::from_secs(1);
    let of = |part: &Activity| -> Vec<(Duration, Duration)> {
        let offset = part.started.duration_since(started).unwrap_or_default();
        let ends = |outage: &Outage| outage.to.unwrap_or(part.elapsed);
        part.outages.iter().map(|outage| (offset + outage.from, offset + ends(outage))).collect()
    };
    let shared = parts.iter().map(|part| of(part)).reduce(|all, own| {
        let meet = |(from, to): &(Duration, Duration)| {
            own.iter().map(move |(f, t)| (*from.max(f), *to.min(t))).collect::<Vec<_>>()
        };
        all.iter().flat_map(meet).filter(|(from, to)| *to >= *from + SHORTEST).collect()
    });
    let end = parts.iter().map(|part| part.started + part.elapsed).max();
    let last = end.and_then(|end| end.duration_since(started).ok()).unwrap_or_default();
    let shared = shared.unwrap_or_default().into_iter();
    shared.map(|(from, to)| Outage { from, to: (to < last).then_some(to) }).collect()
}

/// The connections of all parts, each point at its own time.
fn connections(parts: &[&Activity], started: SystemTime) -> Vec<ConnectionPoint> {
    let mut points: Vec<ConnectionPoint> = parts
        .iter()
        .flat_map(|part| {
            let offset = part.started.duration_since(started).unwrap_or_default();
            part.connections.iter().map(move |point| ConnectionPoint { at: point.at + offset, ..*point })
        })
        .collect();
    points.sort_by_key(|point| point.at);
    points.dedup_by(|next, point| {
        let together = next.at == point.at;
        if together {
            point.asked += next.asked;
            point.opened += next.opened;
            point.lost += next.lost;
        }
        together
    });
    let mut open = 0u64;
    for point in &mut points {
        open = (open + point.opened).saturating_sub(point.lost);
        point.open = open;
    }
    points
}

/// What the target said of itself is said of all of its clients: it is taken from one part, and from none where
/// parts may have had targets of their own.
fn server(parts: &[&Activity], started: SystemTime) -> Vec<ServerPoint> {
    let Some(longest) = parts.iter().max_by_key(|part| part.server.len()) else { return Vec::new() };
    let offset = longest.started.duration_since(started).unwrap_or_default();
    let mut points = longest.server.clone();
    points.iter_mut().for_each(|point| point.at += offset);
    points
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::frame;
    use super::super::timeline::Builder;
    use super::*;
    use crate::report::Source;
    use crate::report::figures::tests::{activity, op, run};
    use proptest::prelude::*;

    /// A run that started so many milliseconds after another and in each second had these times (ns).
    fn part(after: u64, seconds: &[Vec<u64>]) -> Run {
        let started = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_000 + after);
        let source = Source {
            id: 0,
            alias: "main".to_owned(),
            workload: "w.yaml".to_owned(),
            ops: vec!["b__a".to_owned()],
            started,
            more: Vec::new(),
            strides: false,
            offset: Duration::ZERO,
        };
        let (mut builder, mut a, mut series) = (Builder::new(1), op("b__a"), Vec::new());
        for (second, times) in (0..).zip(seconds) {
            let frame = frame(second * 1_000, 1_000, times);
            a.stats.add(&frame.ops[0]);
            builder.push(&source, &frame).expect("packed");
            series.extend(frame.points());
        }
        let mut main = activity("main", vec![a]);
        main.series = series;
        main.started = started;
        main.elapsed = Duration::from_secs(seconds.len() as u64);
        main.cycles_asked = Some(50);
        main.target = Some(100.0);
        main.timeline = Some(builder.finish().expect("packed"));
        Run { started, elapsed: main.elapsed, ..run(vec![main]) }
    }

    fn merged(runs: Vec<Run>) -> Run {
        let named = runs.into_iter().zip('a'..).map(|(run, name)| {
            let command = format!("{} {name}", run.command);
            (format!("{name}.json"), Run { command, ..run })
        });
        merge(named.collect(), "nbrs merge".to_owned()).expect("they are parts of one run")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn merged_halves_are_what_one_run_would_have_recorded(
            first in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..20), 1..5),
            second in prop::collection::vec(prop::collection::vec(0..10_000_000_000u64, 0..20), 1..5),
        ) {
            let whole: Vec<Vec<u64>> = first.iter().chain(&second).cloned().collect();
            let one = part(0, &whole);
            let halves = merged(vec![part(0, &first), part(first.len() as u64 * 1_000, &second)]);
            let (one, both) = (&one.activities[0], &halves.activities[0]);
            prop_assert_eq!(&one.ops[0].stats.service, &both.ops[0].stats.service);
            prop_assert_eq!(&one.ops[0].stats.response, &both.ops[0].stats.response);
            prop_assert_eq!(one.ops[0].stats.ok, both.ops[0].stats.ok);
            prop_assert_eq!(one.elapsed, both.elapsed);
            prop_assert_eq!(&one.timeline, &both.timeline);
        }
    }

    #[test]
    fn what_was_done_in_the_same_second_is_added() {
        let first = part(0, &[vec![5, 5], vec![7]]);
        let second = part(1_200, &[vec![1_000], vec![2_000, 3_000]]);
        let both = merged(vec![first, second]);
        let main = &both.activities[0];
        assert_eq!((main.elapsed, main.threads), (Duration::from_millis(3_200), 2));
        assert_eq!((main.cycles_asked, main.target), (Some(100), Some(200.0)));
        let points: Vec<_> = main
            .series
            .iter()
            .map(|p| (p.at.as_millis(), p.length.as_millis(), p.ok, p.service.max))
            .collect();
        assert_eq!(
            points,
            [(1_000, 1_000, 2, 5), (2_000, 1_000, 2, 1_000), (3_000, 1_000, 2, 3_000)].map(
                |(at, length, ok, max): (u128, u128, u64, u64)| {
                    let histogram = &main.ops[0].stats.service;
                    (at, length, ok, histogram.highest_equivalent(max))
                }
            )
        );
        assert_eq!(both.merged.len(), 2);
        // Merged runs can be merged again.
        let three = merged(vec![both, part(9_000, &[vec![1]])]);
        assert_eq!((three.merged.len(), three.activities[0].ops[0].stats.ok), (3, 7));
    }

    #[test]
    fn parts_of_many_minutes_are_merged_second_by_second() {
        // The timeline of so many seconds has bins of several.
        let seconds: Vec<Vec<u64>> =
            (0..1_000).map(|second| if second == 500 { vec![9_000_000] } else { vec![1_000; 4] }).collect();
        let both = merged(vec![part(0, &seconds), part(0, &seconds)]);
        let main = &both.activities[0];
        assert!(main.timeline.as_ref().is_some_and(|timeline| timeline.bin() > 1));
        assert_eq!(main.series.len(), 1_000);
        for (point, second) in main.series.iter().zip(0..) {
            assert_eq!((point.at, point.length), (Duration::from_secs(second + 1), Duration::from_secs(1)));
            assert_eq!(point.ok, if second == 500 { 2 } else { 8 }, "second {second}");
            // Of the bin that the second lies in.
            let slow = second / 4 == 500 / 4;
            assert_eq!(point.service.max > 8_000_000, slow, "second {second}");
        }
        // And again, with a part whose intervals are longer.
        let mut coarse = part(0, &seconds);
        coarse.command.push_str(" once more");
        coarse.activities[0].series.retain(|point| point.at.as_secs() % 2 == 0);
        let again = merged(vec![both, coarse]);
        assert_eq!(again.activities[0].series.len(), 500);
        assert_eq!(again.activities[0].series[0].ok, 20);
    }

    #[test]
    fn an_outage_is_one_where_no_part_got_an_answer() {
        let with = |after: u64, from: u64, to: Option<u64>| {
            let mut run = part(after, &[vec![1], vec![1], vec![1], vec![1], vec![1], vec![1]]);
            run.activities[0].outages =
                vec![Outage { from: Duration::from_secs(from), to: to.map(Duration::from_secs) }];
            run
        };
        let of = |runs| -> Vec<(u64, Option<u64>)> {
            let outages = merged(runs).activities[0].outages.clone();
            outages.iter().map(|outage| (outage.from.as_secs(), outage.to.map(|to| to.as_secs()))).collect()
        };
        assert_eq!(of(vec![with(0, 1, Some(4)), with(1_000, 1, Some(5))]), [(2, Some(4))]);
        assert_eq!(of(vec![with(0, 2, None), with(0, 3, None)]), [(3, None)]);
        assert_eq!(of(vec![with(0, 1, Some(3)), part(0, &[vec![1]])]), []);
    }

    #[test]
    fn what_cannot_be_one_run_is_an_error() {
        let error = |runs: Vec<Run>| {
            let named = runs.into_iter().zip('a'..).map(|(run, name)| (format!("{name}.json"), run));
            merge(named.collect(), String::new()).expect_err("they are no parts")
        };
        let run = part(0, &[vec![1]]);
        assert_eq!(
            error(vec![run.clone(), run.clone()]),
            "a.json and b.json hold the same run, which would count twice"
        );
        assert!(error(vec![Run { max_rate: Some(1.0), ..run.clone() }]).contains("findmax"));
        let mut without = run;
        without.activities[0].timeline = None;
        assert!(error(vec![without]).contains("no timeline"));
        assert!(error(Vec::new()).contains("no run"));
        // Nor by way of a result that it was merged into.
        let two = vec![part(0, &[vec![1]]), part(50, &[vec![1]])];
        let both = || ("both.json".to_owned(), merged(two.clone()));
        let again = |other: (String, Run)| merge(vec![both(), other], String::new());
        let (name, whole) = both();
        let own = &whole.merged[0];
        let one = Run { command: own.command.clone(), ..two[0].clone() };
        assert!(again((name, whole.clone())).is_err());
        assert!(again(("a.json".to_owned(), one)).is_err());
        assert!(
            again(("c.json".to_owned(), Run { command: "another".to_owned(), ..two[0].clone() })).is_ok()
        );
    }
}
