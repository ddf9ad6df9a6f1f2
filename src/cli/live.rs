//! The live view on the terminal: takes the whole screen while the run goes on, and gives it back as it was. What
//! would be printed meanwhile is shown as a message, and printed when the screen has been given back.

use crate::metrics::Frame;
use crate::report::Standing;
use crate::report::live::{Begun, Live, Now};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two pictures.
const EVERY: Duration = Duration::from_millis(250);

/// The terminal is ours at the moment.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back, whoever has it; for the end of the program by any way.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Whatever of it works is better than nothing of it.
        let _ = disable_raw_mode();
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
    }
}

/// What waits until the terminal is given back.
enum Held {
    Stderr(String),
    Stdout(String),
}

struct Shared {
    live: Mutex<Live>,
    held: Mutex<Vec<Held>>,
    ended: AtomicBool,
    began: Instant,
}

/// The live view of a run.
pub struct LiveView {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveView {
    /// Takes the terminal. The error: why it cannot be taken.
    pub fn start() -> Result<LiveView, String> {
        if !io::stderr().is_terminal() {
            return Err("standard error is no terminal".to_owned());
        }
        let kind = std::env::var("TERM").unwrap_or_default();
        if kind.is_empty() || kind == "dumb" {
            return Err(format!("TERM is `{kind}`, a terminal that nothing can be drawn on"));
        }
        let cannot = |error: io::Error| {
            restore();
            format!("this terminal cannot be drawn on: {error}")
        };
        enable_raw_mode().map_err(cannot)?;
        TAKEN.store(true, Ordering::SeqCst);
        let mut out = io::stderr();
        queue!(out, EnterAlternateScreen, Hide).and_then(|()| out.flush()).map_err(cannot)?;
        let mut terminal = Terminal::new(CrosstermBackend::new(out)).map_err(cannot)?;
        let shared = Arc::new(Shared {
            live: Mutex::default(),
            held: Mutex::default(),
            ended: AtomicBool::new(false),
            began: Instant::now(),
        });
        let seen = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("nbrs-live".to_owned())
            .spawn(move || {
                while !seen.ended.load(Ordering::SeqCst) && TAKEN.load(Ordering::SeqCst) {
                    // A copy: a terminal that takes nothing for a while must not hold up the run.
                    let mut live = lock(&seen.live).clone();
                    live.tick(seen.began.elapsed());
                    let drawn = terminal.draw(|screen| live.draw(screen)).map(drop);
                    // A terminal that has gone away takes no keys either; the run goes on.
                    if drawn.and_then(|()| keys(&seen)).is_err() {
                        break;
                    }
                }
            })
            .map_err(cannot)?;
        Ok(LiveView { shared, thread: Mutex::new(Some(thread)) })
    }

    pub fn begin(&self, begun: Begun) {
        lock(&self.shared.live).begin(begun);
    }

    pub fn progress(&self, id: usize, now: Now) {
        lock(&self.shared.live).progress(id, now);
    }

    pub fn frame(&self, id: usize, frame: &Frame) {
        lock(&self.shared.live).frame(id, frame);
    }

    pub fn end(&self, id: usize, standing: Standing) {
        lock(&self.shared.live).end(id, standing);
    }

    /// Shows lines that go to stderr later; false where the terminal was given back already.
    pub fn println(&self, text: &str) -> bool {
        self.hold(Held::Stderr(format!("{text}\n")), Some(text))
    }

    /// Keeps what goes to stdout later; false where the terminal was given back already.
    pub fn print(&self, text: &str) -> bool {
        self.hold(Held::Stdout(text.to_owned()), None)
    }

    /// The terminal was given back.
    pub fn is_over(&self) -> bool {
        self.shared.ended.load(Ordering::SeqCst)
    }

    fn hold(&self, held: Held, message: Option<&str>) -> bool {
        let mut all = lock(&self.shared.held);
        if self.shared.ended.load(Ordering::SeqCst) {
            return false;
        }
        all.push(held);
        drop(all);
        if let Some(text) = message {
            lock(&self.shared.live).message(text);
        }
        true
    }

    /// Gives the terminal back and prints what waited. The error is one of standard output.
    pub fn finish(&self) -> io::Result<()> {
        let held = {
            let mut all = lock(&self.shared.held);
            if self.shared.ended.swap(true, Ordering::SeqCst) {
                return Ok(());
            }
            std::mem::take(&mut *all)
        };
        if let Some(thread) = lock(&self.thread).take() {
            // It ends within a picture's time; were it to have broken down, there is nothing to wait for.
            let _ = thread.join();
        }
        restore();
        let mut result = Ok(());
        for text in held {
            match text {
                // A closed stderr leaves nobody to tell.
                Held::Stderr(text) => drop(io::stderr().write_all(text.as_bytes())),
                Held::Stdout(text) if result.is_ok() => {
                    let mut out = io::stdout().lock();
                    result = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                }
                Held::Stdout(_) => {}
            }
        }
        result
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        // Whoever wanted to know of an error has asked before.
        let _ = self.finish();
    }
}

/// Takes keys until it is time for the next picture.
fn keys(shared: &Shared) -> io::Result<()> {
    let until = Instant::now() + EVERY;
    while event::poll(until.saturating_duration_since(Instant::now()))? {
        let Event::Key(key) = event::read()? else { return Ok(()) };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('q') | KeyCode::Char('Q') => interrupt(shared),
            // In raw mode the terminal makes no signal of it.
            KeyCode::Char('c') if control => interrupt(shared),
            KeyCode::Tab => lock(&shared.live).choose_next(),
            KeyCode::Up => lock(&shared.live).scroll(-1),
            KeyCode::Down => lock(&shared.live).scroll(1),
            KeyCode::PageUp => lock(&shared.live).scroll(-10),
            KeyCode::PageDown => lock(&shared.live).scroll(10),
            _ => continue,
        }
        // What a key did is seen at once.
        break;
    }
    Ok(())
}

/// What Ctrl-C would do: the program's own handler does the rest.
fn interrupt(shared: &Shared) {
    lock(&shared.live).ending();
    // A process may always send itself a signal.
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
}
