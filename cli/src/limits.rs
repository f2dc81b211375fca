//! `--limit`: what a source may ask for, and the watch over time and memory, which only a process of its own can keep.
//!
//! Time is the processor's, so that a busy machine refuses nothing that an idle one compiles. A compilation that passes its time or memory
//! is asked to end; one that does not is ended with the whole command. No output depends on either: there is an error or the same bytes.

use crate::args::MessageFormat;
use crate::report::Failure;
use retroshade::lower::nearest::also;
use retroshade::lower::{Cancel, Limits, Options};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Seconds of processor time that a source may take for a target. Builds with debug assertions are slower by far.
const SECONDS: u64 = if cfg!(debug_assertions) { 600 } else { 2 };
/// MiB that the command may hold while it compiles one source.
const MIB: u64 = if cfg!(debug_assertions) { 4096 } else { 256 };
/// What a larger source may take beyond that: bytes of it for a second more and 64 MiB more.
const PACE: u64 = 64 << 10;
const MIB_FOR_PACE: u64 = 64;
/// MiB that a command may hold that keeps what it made of many sources.
pub const MANY: u64 = 4096;
/// Bytes of an input.
const INPUT: u64 = 64 << 20;
/// How often whoever waits for a compilation looks at what it took.
pub const LOOK: Duration = Duration::from_millis(20);
/// How long a compilation may go on after it was asked to end.
const GRACE: Duration = Duration::from_secs(2);

/// Bytes of the largest input; set once, before the first is read.
static LARGEST: AtomicU64 = AtomicU64::new(INPUT);
/// Bytes of the largest input that was read.
static READ: AtomicU64 = AtomicU64::new(0);
/// Milliseconds of processor time at which the current source began.
static BEGAN: AtomicU64 = AtomicU64::new(0);
/// What was passed.
static PASSED: OnceLock<String> = OnceLock::new();
/// What is watched.
static WATCHED: Mutex<Vec<Watch>> = Mutex::new(Vec::new());

/// Time and memory of compilations.
struct Watch {
    /// What the caller allows: seconds and MiB.
    time: Option<u64>,
    memory: Option<u64>,
    /// Asks them to end, and since when it does.
    flag: Arc<AtomicBool>,
    asked: Option<Instant>,
    format: MessageFormat,
}

/// Bytes of the largest input of any kind.
pub fn largest_input() -> u64 {
    LARGEST.load(Ordering::Relaxed)
}

/// An input of so many bytes was read.
pub fn saw(bytes: u64) {
    READ.fetch_max(bytes, Ordering::Relaxed);
}

/// `NAME=VALUE`
pub fn parse(s: &str) -> Result<(String, u64), String> {
    let (name, value) = s.split_once('=').ok_or("it is NAME=VALUE")?;
    let known = ["input", "time", "memory"].into_iter().chain(Limits::NAMES.iter().map(|n| n.0));
    if !known.clone().any(|n| n == name) {
        let hint = also(name, known.clone());
        return Err(format!("there is no limit `{name}`; limits are {}{hint}", known.collect::<Vec<_>>().join(", ")));
    }
    Ok((name.to_string(), value.parse().map_err(|_| format!("`{value}` is no number"))?))
}

/// Applies `--limit` to the options of compilations, which are watched from now on: see [`look`].
pub fn apply(given: &[(String, u64)], options: &mut Options, format: MessageFormat) {
    let (mut seconds, mut mib) = (None, None);
    for (name, value) in given {
        match name.as_str() {
            "input" => LARGEST.store(*value, Ordering::Relaxed),
            "time" => seconds = Some(*value),
            "memory" => mib = Some(*value),
            _ => drop(options.limits.set(name, *value)),
        }
    }
    let flag = Arc::new(AtomicBool::new(false));
    options.cancel = Cancel::when(flag.clone());
    next();
    if let Ok(mut watched) = WATCHED.lock() {
        watched.push(Watch { time: seconds, memory: mib, flag, asked: None, format });
    }
}

/// Another source, or another target, begins.
pub fn next() {
    BEGAN.store(processor_time().as_millis() as u64, Ordering::Relaxed);
}

/// The failure of a command that was ended, instead of what became of it.
pub fn ended() -> Option<Failure> {
    PASSED.get().map(|what| Failure::plain(3, "C0033", what.clone()))
}

/// Looks at what the compilations took so far, and ends those that took too much.
pub fn look() {
    if let Ok(mut watched) = WATCHED.lock() {
        watched.iter_mut().for_each(Watch::look);
    }
}

impl Watch {
    fn look(&mut self) {
        if let Some(asked) = self.asked {
            // It does not look at the flag where it is.
            if asked.elapsed() > GRACE {
                if let Some(f) = ended() {
                    crate::report::show(&f, self.format);
                }
                std::process::exit(3);
            }
            return;
        }
        // What the caller says is all; what nobody said grows with the source.
        let grown = READ.load(Ordering::Relaxed) / PACE;
        let (seconds, mib) = (self.time.unwrap_or(SECONDS + grown), self.memory.unwrap_or(MIB + MIB_FOR_PACE * grown));
        let took = (processor_time().as_millis() as u64).saturating_sub(BEGAN.load(Ordering::Relaxed));
        let holds = resident_bytes().unwrap_or(0) >> 20;
        let what = match (took > seconds.saturating_mul(1000), holds > mib) {
            (true, _) => format!(
                "the compilation took too long (needed more than {seconds} seconds, available {seconds}); --limit time=N allows more"
            ),
            (_, true) => {
                format!("the compilation took too much memory (needed {holds} MiB, available {mib}); --limit memory=N allows more")
            }
            _ => return,
        };
        let _ = PASSED.set(what);
        self.flag.store(true, Ordering::Relaxed);
        self.asked = Some(Instant::now());
    }
}

/// Processor time of this process where the system tells it, otherwise the time since the first call.
fn processor_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = *START.get_or_init(Instant::now);
    let ticks = || {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name may hold anything but its last parenthesis.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        Some(user + system)
    };
    // Linux counts hundredths of a second there whatever its own clock does.
    ticks().map_or_else(|| start.elapsed(), |t| Duration::from_millis(10 * t))
}

/// Bytes of memory that this process holds, where the system tells it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_names_and_numbers() {
        assert_eq!(parse("blocks=12"), Ok(("blocks".to_string(), 12)));
        assert!(parse("blocks").is_err() && parse("bloks=1").is_err_and(|e| e.contains("limits are input, time, memory, instructions")));
        assert!(parse("time=soon").is_err());
    }

    #[test]
    fn the_system_tells_time_and_memory() {
        if cfg!(target_os = "linux") {
            assert!(resident_bytes().is_some_and(|b| b > 1 << 20));
        }
        assert!(processor_time() <= processor_time());
    }
}
