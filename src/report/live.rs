//! The live view: how a run is drawn on a whole terminal while it goes on. Takes what the view is told, gives a
//! screen; knows no terminal.

use super::{Interval, Standing, wording};
use crate::metrics::{Frame, Quantiles};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Axis, Block, Cell, Chart, Dataset, GraphType, LineGauge, Paragraph, Row, Table, Wrap,
};
use std::collections::VecDeque;
use std::time::Duration;

/// Intervals that are drawn: five minutes of seconds.
const INTERVALS: usize = 300;
/// Messages that are kept for the screen.
const MESSAGES: usize = 50;
/// Columns and rows without which nothing can be read.
const SMALLEST: (u16, u16) = (60, 18);

/// What is known of an activity when it begins.
#[derive(Debug, Clone, Default)]
pub struct Begun {
    pub id: usize,
    pub alias: String,
    pub ops: Vec<String>,
    pub threads: u64,
    /// Cycles per second that are asked for.
    pub target: Option<f64>,
}

/// Where it stands.
#[derive(Debug, Clone, Copy, Default)]
pub struct Now {
    pub standing: Standing,
    pub errors: u64,
    /// Cycles that are due and have not started.
    pub backlog: u64,
}

#[derive(Debug, Clone)]
struct Activity {
    begun: Begun,
    now: Now,
    ended: bool,
    /// What happens now is not counted.
    warm_up: bool,
    /// End of the interval in seconds, what it was, and its service time.
    intervals: VecDeque<(f64, Interval, Quantiles)>,
    /// Of each op: in all, and in the last interval.
    ops: Vec<(Totals, Totals)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    ok: u64,
    errors: u64,
    per_second: f64,
    response: Quantiles,
}

/// All that is on the screen.
#[derive(Debug, Clone, Default)]
pub struct Live {
    activities: Vec<Activity>,
    /// The activity whose details are shown; the latest until somebody chooses.
    chosen: Option<usize>,
    messages: VecDeque<String>,
    /// Ops that are scrolled out of the table at its top.
    scrolled: usize,
    /// The run was asked to end.
    ending: bool,
    elapsed: Duration,
}

impl Live {
    pub fn begin(&mut self, begun: Begun) {
        let ops = vec![(Totals::default(), Totals::default()); begun.ops.len()];
        let (now, intervals) = (Now::default(), VecDeque::new());
        self.activities.push(Activity { begun, now, ended: false, warm_up: false, intervals, ops });
    }

    fn of(&mut self, id: usize) -> Option<&mut Activity> {
        self.activities.iter_mut().find(|activity| activity.begun.id == id)
    }

    pub fn progress(&mut self, id: usize, now: Now) {
        if let Some(activity) = self.of(id) {
            activity.now = now;
        }
    }

    pub fn frame(&mut self, id: usize, frame: &Frame) {
        let Some(activity) = self.of(id) else { return };
        let all = super::clock::sum(&frame.ops);
        let at = (frame.start + frame.length).as_secs_f64();
        activity.intervals.push_back((at, Interval::of(frame), Quantiles::of(&all.service)));
        if activity.intervals.len() > INTERVALS {
            activity.intervals.pop_front();
        }
        activity.warm_up = frame.warm_up;
        let seconds = frame.length.as_secs_f64();
        for ((total, last), op) in activity.ops.iter_mut().zip(&frame.ops) {
            let errors = op.failed_ops();
            let per_second = if seconds > 0.0 { op.ok as f64 / seconds } else { 0.0 };
            *last = Totals { ok: op.ok, errors, per_second, response: Quantiles::of(&op.response) };
            if !frame.warm_up {
                total.ok += op.ok;
                total.errors += errors;
            }
        }
    }

    pub fn end(&mut self, id: usize, standing: Standing) {
        if let Some(activity) = self.of(id) {
            activity.ended = true;
            activity.now.standing = standing;
            activity.now.backlog = 0;
        }
    }

    /// Something to read: its first line is shown.
    pub fn message(&mut self, text: &str) {
        if let Some(line) = text.lines().find(|line| !line.trim().is_empty()) {
            self.messages.push_back(wording::line(line, 500));
            if self.messages.len() > MESSAGES {
                self.messages.pop_front();
            }
        }
    }

    /// The next activity is shown.
    pub fn choose_next(&mut self) {
        let shown = self.shown().unwrap_or(0);
        self.scrolled = 0;
        self.chosen = (!self.activities.is_empty()).then(|| (shown + 1) % self.activities.len());
    }

    /// The table of ops is moved by so many rows, up or down.
    pub fn scroll(&mut self, rows: isize) {
        let ops = self.shown().and_then(|at| self.activities.get(at)).map_or(0, |shown| shown.ops.len());
        self.scrolled = self.scrolled.saturating_add_signed(rows).min(ops.saturating_sub(1));
    }

    pub fn ending(&mut self) {
        self.ending = true;
    }

    pub fn tick(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    /// The position of the activity that is shown.
    fn shown(&self) -> Option<usize> {
        let running = || self.activities.iter().rposition(|activity| !activity.ended);
        self.chosen.or_else(running).or_else(|| self.activities.len().checked_sub(1))
    }

    pub fn draw(&self, screen: &mut ratatui::Frame) {
        let area = screen.area();
        let (width, height) = SMALLEST;
        if area.width < width || area.height < height {
            self.draw_too_small(screen);
            return;
        }
        // The latest activities have a line each.
        let listed = self.activities.len().clamp(1, 4) as u16;
        let messages = if area.height >= 30 { 5 } else { 3 };
        let [title, list, facts, charts, table, said, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(listed),
            Constraint::Length(1),
            Constraint::Fill(3),
            Constraint::Fill(2),
            Constraint::Length(messages),
            Constraint::Length(1),
        ])
        .areas(area);
        let heading = format!("nbrs  {}", wording::elapsed(self.elapsed));
        screen.render_widget(Paragraph::new(heading).style(Style::new().add_modifier(Modifier::BOLD)), title);
        self.draw_list(screen, list, usize::from(listed));
        if let Some(activity) = self.shown().and_then(|at| self.activities.get(at)) {
            screen.render_widget(Paragraph::new(activity.facts()), facts);
            // Side by side where a chart is wide enough to be read, else where it is too low to be read.
            let [rates, times] = match (area.width, charts.height) {
                (100.., _) | (_, ..12) => {
                    Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(charts)
                }
                _ => Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(charts),
            };
            activity.draw_rates(screen, rates);
            activity.draw_times(screen, times);
            activity.draw_ops(screen, table, self.scrolled);
        }
        let room = usize::from(said.height.saturating_sub(1));
        let newest = self.messages.iter().skip(self.messages.len().saturating_sub(room));
        let lines: Vec<Line> = newest.map(|text| Line::raw(text.as_str())).collect();
        screen.render_widget(Paragraph::new(lines).block(Block::new().title("messages").style(dim())), said);
        screen.render_widget(Paragraph::new(self.help()).style(dim()), keys);
    }

    fn help(&self) -> &'static str {
        match self.ending {
            true => "ending: ops in flight are awaited; q again ends at once",
            false => "q ends the run · tab: next activity · ↑↓: more ops",
        }
    }

    /// What matters most, in as many lines as there are.
    fn draw_too_small(&self, screen: &mut ratatui::Frame) {
        let area = screen.area();
        let (width, height) = SMALLEST;
        let mut lines = vec![
            format!("terminal too small: {}×{}", area.width, area.height),
            format!("the live view needs {width}×{height}"),
        ];
        if let Some(activity) = self.shown().and_then(|at| self.activities.get(at)) {
            lines.push(activity.headline());
        }
        lines.push(self.help().to_owned());
        let lines: Vec<Line> = lines.into_iter().map(Line::raw).collect();
        screen.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), area);
    }

    fn draw_list(&self, screen: &mut ratatui::Frame, area: Rect, room: usize) {
        let shown = self.shown();
        let first = match shown {
            Some(shown) if shown >= room => shown + 1 - room,
            _ => 0,
        };
        for (row, (at, activity)) in self.activities.iter().enumerate().skip(first).take(room).enumerate() {
            let line = Rect { y: area.y + row as u16, height: 1, ..area }.intersection(area);
            activity.draw_line(screen, line, shown == Some(at) && self.activities.len() > 1);
        }
    }
}

fn dim() -> Style {
    Style::new().fg(Color::DarkGray)
}

impl Activity {
    /// `main  20,000 of 40,000 cycles  400 errors`.
    fn headline(&self) -> String {
        let Now { standing, errors, .. } = self.now;
        let total = match standing.total {
            0 => String::new(),
            total => format!(" of {}", wording::count(total)),
        };
        let state = match (self.ended, self.warm_up) {
            (true, _) => "  ended",
            (false, true) => "  warm-up",
            (false, false) => "",
        };
        format!(
            "{}  {}{total} cycles  {}{state}",
            wording::name(&self.begun.alias),
            wording::count(standing.done),
            wording::counted(errors, "error")
        )
    }

    /// Who works, who waits, and for what.
    fn facts(&self) -> String {
        let busy = self.now.standing.in_flight;
        let threads = wording::count(self.begun.threads);
        let mut facts = format!("{} of {threads} threads busy", wording::count(busy));
        if let Some(target) = self.begun.target {
            let blocked = if self.ended { 0 } else { self.begun.threads.saturating_sub(busy) };
            facts += &format!(
                ", {} blocked by the rate of {}, backlog {}",
                wording::count(blocked),
                wording::per_second(target),
                wording::count(self.now.backlog)
            );
        }
        facts
    }

    fn draw_line(&self, screen: &mut ratatui::Frame, area: Rect, marked: bool) {
        let Now { standing, errors, .. } = self.now;
        let share = match standing.total {
            0 => 0.0,
            total => (standing.done as f64 / total as f64).clamp(0.0, 1.0),
        };
        let mark = if marked { "▶ " } else { "" };
        let label = format!("{mark}{}", self.headline());
        let [bar, text] = Layout::horizontal([Constraint::Length(16), Constraint::Fill(1)]).areas(area);
        let gauge = LineGauge::default()
            .ratio(share)
            .label(format!("{:>3.0}%", (share * 100.0).floor()))
            .filled_style(Style::new().fg(Color::Cyan));
        let text = match standing.total {
            0 => area,
            _ => {
                screen.render_widget(gauge, Rect { width: bar.width.saturating_sub(1), ..bar });
                text
            }
        };
        let style = if errors > 0 { Style::new().fg(Color::Yellow) } else { Style::new() };
        screen.render_widget(Paragraph::new(Span::styled(label, style)), text);
    }

    fn span(&self) -> [f64; 2] {
        let first = self.intervals.front().map_or(0.0, |(at, ..)| *at);
        let last = self.intervals.back().map_or(1.0, |(at, ..)| *at);
        [first, last.max(first + 1.0)]
    }

    fn draw_rates(&self, screen: &mut ratatui::Frame, area: Rect) {
        let ok: Vec<(f64, f64)> = self.intervals.iter().map(|(at, one, _)| (*at, one.ops_per_s)).collect();
        let failed: Vec<(f64, f64)> = self
            .intervals
            .iter()
            .map(|(at, one, _)| (*at, (one.attempted_per_s - one.ops_per_s).max(0.0)))
            .collect();
        let highest =
            ok.iter().chain(&failed).map(|(_, rate)| *rate).chain(self.begun.target).fold(1.0, f64::max);
        let now = self.intervals.back().map_or(0.0, |(_, one, _)| one.ops_per_s);
        let asked: Vec<(f64, f64)> =
            self.begun.target.into_iter().flat_map(|rate| self.span().map(|at| (at, rate))).collect();
        let mut lines = vec![line(&asked, Color::DarkGray), line(&ok, Color::Cyan)];
        if failed.iter().any(|(_, rate)| *rate > 0.0) {
            lines.push(line(&failed, Color::Red));
        }
        let title = format!("throughput  {}", wording::per_second(now));
        let labels = [0.0, highest / 2.0, highest].map(wording::number);
        self.draw_chart(screen, area, title, lines, [0.0, highest * 1.05], labels);
    }

    fn draw_times(&self, screen: &mut ratatui::Frame, area: Rect) {
        let of = |part: fn(&Quantiles) -> u64| -> Vec<(f64, f64)> {
            let measured = self.intervals.iter().filter(|(.., times)| times.max > 0);
            measured.map(|(at, _, times)| (*at, (part(times).max(1) as f64).log10())).collect()
        };
        let (p50, p99) = (of(|times| times.p50), of(|times| times.p99));
        let lowest = p50.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
        let highest = p99.iter().map(|(_, y)| *y).fold(f64::NEG_INFINITY, f64::max);
        let (lowest, highest) = match lowest.is_finite() && highest.is_finite() {
            true => (lowest - 0.05, highest.max(lowest) + 0.05),
            false => (3.0, 6.0),
        };
        let last = self.intervals.back().map(|(.., times)| *times).unwrap_or_default();
        let time = |nanos: u64| wording::time(nanos as f64);
        let title =
            format!("service  p50 {}  p99 {}  max {}", time(last.p50), time(last.p99), time(last.max));
        let labels = [lowest, f64::midpoint(lowest, highest), highest].map(|y| wording::time(10f64.powf(y)));
        let lines = vec![line(&p99, Color::Yellow), line(&p50, Color::Green)];
        self.draw_chart(screen, area, title, lines, [lowest, highest], labels);
    }

    fn draw_chart(
        &self,
        screen: &mut ratatui::Frame,
        area: Rect,
        title: String,
        lines: Vec<Dataset>,
        bounds: [f64; 2],
        labels: [String; 3],
    ) {
        let span = self.span();
        let seconds = span.map(|at| wording::elapsed(Duration::from_secs_f64(at.round().max(0.0))));
        let x = Axis::default().bounds(span).labels(seconds.map(Line::raw)).style(dim());
        let y = Axis::default().bounds(bounds).labels(labels.map(Line::raw)).style(dim());
        let block = Block::bordered().border_style(dim()).title(title);
        screen.render_widget(Chart::new(lines).block(block).x_axis(x).y_axis(y).legend_position(None), area);
    }

    fn draw_ops(&self, screen: &mut ratatui::Frame, area: Rect, scrolled: usize) {
        let time = |nanos: u64| if nanos == 0 { "-".to_owned() } else { wording::time(nanos as f64) };
        // Two borders and a heading.
        let room = usize::from(area.height.saturating_sub(3));
        let first = scrolled.min(self.ops.len().saturating_sub(room));
        let rows =
            self.begun.ops.iter().zip(&self.ops).skip(first).take(room).map(|(name, (total, last))| {
                let errors = if total.errors > 0 { Style::new().fg(Color::Red) } else { Style::new() };
                let cells = [
                    Line::raw(wording::number(last.per_second)),
                    Line::raw(wording::count(total.ok)),
                    Line::raw(wording::count(total.errors)).style(errors),
                    Line::raw(time(last.response.p50)),
                    Line::raw(time(last.response.p99)),
                    Line::raw(time(last.response.max)),
                ];
                row(Line::raw(wording::name(name)), cells, area.width)
            });
        let head = ["ok/s", "ok", "errors", "p50", "p99", "max"].map(Line::raw);
        let head = row(Line::raw("op"), head, area.width).style(Style::new().add_modifier(Modifier::BOLD));
        let widths = COLUMNS.iter().filter(|(_, from)| area.width >= *from);
        let widths = widths.map(|(width, _)| Constraint::Length(*width));
        let widths: Vec<Constraint> = std::iter::once(Constraint::Fill(1)).chain(widths).collect();
        let shown = match self.ops.len() > room {
            true => {
                format!("; {} to {} of {}", first + 1, (first + room).min(self.ops.len()), self.ops.len())
            }
            false => String::new(),
        };
        let title = format!("ops, response time of the last second{shown}");
        let block = Block::bordered().border_style(dim()).title(title);
        screen.render_widget(Table::new(rows, widths).header(head).block(block), area);
    }
}

/// Of the table of ops: width of each column, and from which width of the terminal on it is shown.
const COLUMNS: [(u16, u16); 6] = [(9, 0), (13, 90), (9, 0), (8, 0), (8, 0), (8, 76)];

/// A row with those of its cells for which there is room, figures to the right.
fn row<'a>(name: Line<'a>, cells: [Line<'a>; 6], width: u16) -> Row<'a> {
    let shown = cells.into_iter().zip(COLUMNS).filter(|(_, (_, from))| width >= *from);
    let figures = shown.map(|(cell, _)| Cell::new(cell.alignment(Alignment::Right)));
    Row::new(std::iter::once(Cell::new(name)).chain(figures))
}

fn line(points: &[(f64, f64)], colour: Color) -> Dataset<'_> {
    Dataset::default()
        .data(points)
        .graph_type(GraphType::Line)
        .marker(Marker::Braille)
        .style(Style::new().fg(colour))
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::frame;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn live() -> Live {
        let mut live = Live::default();
        for (id, alias, target) in [(0, "rampup", None), (1, "main", Some(2_500.0))] {
            let ops = vec!["b__read".to_owned()];
            live.begin(Begun { id, alias: alias.to_owned(), ops, threads: 20, target });
        }
        live.end(0, Standing { total: 100, done: 100, in_flight: 0 });
        for second in 0..400 {
            let mut frame = frame(second * 1_000, 1_000, &[1_000_000 + second * 1_000; 50]);
            frame.ops[0].error("Busy").ended = 1;
            live.frame(1, &frame);
        }
        let standing = Standing { total: 40_000, done: 20_000, in_flight: 3 };
        live.progress(1, Now { standing, errors: 400, backlog: 7 });
        live.message("warning: all threads busy\n  more of it");
        live.tick(Duration::from_secs(401));
        live
    }

    fn drawn(live: &Live, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|screen| live.draw(screen)).expect("it is drawn");
        terminal.backend().to_string()
    }

    #[test]
    fn a_run_is_seen_as_it_stands() {
        let screen = drawn(&live(), 120, 40);
        for part in [
            "6 min 41 s",
            "main  20,000 of 40,000 cycles  400 errors",
            "3 of 20 threads busy, 17 blocked by the rate of 2,500/s, backlog 7",
            "50%",
            "rampup  100 of 100 cycles",
            "ended",
            "throughput  50/s",
            "service  p50 1.40 ms  p99 1.40 ms",
            "b__read",
            "20,000",
            "warning: all threads busy",
            "q ends the run",
        ] {
            assert!(screen.contains(part), "no `{part}` in\n{screen}");
        }
        assert!(screen.chars().any(|c| ('⠁'..='⣿').contains(&c)), "the charts are empty:\n{screen}");
        let mut other = live();
        other.choose_next();
        assert!(drawn(&other, 120, 40).contains("throughput  0/s"), "tab shows the other activity");
        other.ending();
        assert!(drawn(&other, 120, 40).contains("q again ends at once"));
    }

    #[test]
    fn a_terminal_of_any_size_can_be_drawn_on() {
        for live in [Live::default(), live()] {
            for (width, height) in
                [(1, 1), (3, 2), (20, 5), (59, 18), (60, 17), (60, 18), (80, 24), (300, 18)]
            {
                let screen = drawn(&live, width, height);
                let small = width < SMALLEST.0 || height < SMALLEST.1;
                assert_eq!(
                    screen.contains("q ends the run · tab"),
                    !small || width >= 59,
                    "{width}×{height}:\n{screen}"
                );
                assert_eq!(screen.contains("too small"), small && width >= 20, "{width}×{height}:\n{screen}");
            }
        }
        let narrow = drawn(&live(), 60, 18);
        for part in ["20,000 of 40,000 cycles", "17 blocked by the rate", "b__read", "errors", "p99"] {
            assert!(narrow.contains(part), "no `{part}` in\n{narrow}");
        }
    }

    #[test]
    fn ops_for_which_there_is_no_room_are_scrolled_to() {
        let ops: Vec<String> = (1..=30).map(|n| format!("op-{n:02}")).collect();
        let mut live = Live::default();
        live.begin(Begun { ops, threads: 1, ..Begun::default() });
        let first = drawn(&live, 100, 30);
        assert!(first.contains("op-01") && !first.contains("op-30") && first.contains("of 30"), "{first}");
        live.scroll(100);
        let last = drawn(&live, 100, 30);
        assert!(!last.contains("op-01") && last.contains("op-30") && last.contains("to 30 of 30"), "{last}");
        live.scroll(isize::MIN);
        assert_eq!(drawn(&live, 100, 30), first);
    }

    #[test]
    fn a_warm_up_is_drawn_and_not_counted() {
        let mut live = Live::default();
        live.begin(Begun { ops: vec!["b__read".to_owned()], threads: 1, ..Begun::default() });
        let mut warm = frame(0, 1_000, &[1_000_000; 77]);
        warm.warm_up = true;
        live.frame(0, &warm);
        let screen = drawn(&live, 100, 30);
        assert!(screen.contains("warm-up") && screen.contains("throughput  77/s"), "{screen}");
        live.frame(0, &frame(1_000, 1_000, &[1_000_000; 33]));
        let screen = drawn(&live, 100, 30);
        assert!(!screen.contains("warm-up") && screen.contains("33") && !screen.contains("110"), "{screen}");
    }
}
