//! The `shaderc` command: arguments, a thread with a deep stack, and the promise that a bug ends with status 70 rather
//! than a backtrace.
#![forbid(unsafe_code)]

mod args;
mod batch;
mod compare;
mod compile;
mod containers;
mod deliver;
mod draw;
mod execute;
mod files;
mod input;
mod limits;
mod machine;
mod process;
mod reduce;
mod report;
mod response;
mod source_map;
mod supervise;
mod warn;

use args::{Cli, Command, MessageFormat};
use clap::CommandFactory;
use report::Failure;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;

/// Compilers take and give back many small pieces of memory.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Deep enough for libraries that recurse over their input.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    let mut arguments = match response::expand(std::env::args_os()) {
        Ok(a) => a,
        Err(f) => {
            report::show(&f, wanted_format(&std::env::args_os().collect::<Vec<_>>()));
            return ExitCode::from(f.status);
        }
    };
    let format = wanted_format(&arguments);
    match supervise::run(&mut arguments) {
        Some(Ok(code)) => return code,
        Some(Err(f)) => {
            report::show(&f, format);
            return ExitCode::from(f.status);
        }
        None => {}
    }
    let cli = match Cli::read(arguments) {
        Ok(c) => c,
        Err(e) if e.use_stderr() && format == MessageFormat::Json => {
            let text = e.render().to_string();
            let message =
                text.trim_start_matches("error: ").lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ");
            report::show(&Failure::usage(message), format);
            return ExitCode::from(2);
        }
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { 2 } else { 0 });
        }
    };
    let format = cli.message_format;
    report::choose_color(cli.color);
    let message = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let kept = message.clone();
    std::panic::set_hook(Box::new(move |info| {
        if let Ok(mut m) = kept.lock() {
            let text = info.payload().downcast_ref::<&str>().map(|s| (*s).to_string());
            let text = text.or_else(|| info.payload().downcast_ref::<String>().cloned()).unwrap_or_default();
            let at = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
            if m.is_empty() {
                *m = format!("{text}{at}");
            }
        }
    }));
    // The other end goes with the thread.
    let (working, done) = std::sync::mpsc::channel::<()>();
    let work = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let _working = working;
        dispatch(&cli)
    });
    while work.is_ok() && done.recv_timeout(limits::LOOK) == Err(RecvTimeoutError::Timeout) {
        limits::look();
    }
    let result = match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(r)) => r,
        Ok(Err(_)) => {
            let m = message.lock().map(|m| m.clone()).unwrap_or_default();
            Err(Failure::plain(70, "X0001", format!("internal error: {m}; this is a bug in shaderc, please report it")))
        }
        Err(e) => Err(Failure::plain(70, "X0001", format!("cannot start: {e}"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(f) => {
            let f = limits::ended().unwrap_or(f);
            report::show(&f, format);
            ExitCode::from(f.status)
        }
    }
}

/// The form of messages that a command line asks for, which may be malformed otherwise.
fn wanted_format(arguments: &[OsString]) -> MessageFormat {
    let json = |n: usize| match arguments[n].to_str() {
        Some("--message-format") => arguments.get(n + 1).is_some_and(|v| v == "json"),
        a => a == Some("--message-format=json"),
    };
    if (1..arguments.len()).any(json) { MessageFormat::Json } else { MessageFormat::Human }
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        None => compile::compile(&cli.compile, cli.message_format),
        Some(Command::Asm(a)) => machine::asm(a, cli.message_format),
        Some(Command::Dis(a)) => machine::dis(a),
        Some(Command::Lint(a)) => machine::lint(a),
        Some(Command::Targets(a)) => machine::targets(a),
        Some(Command::Compare(a)) => compare::compare(a, cli.message_format),
        Some(Command::Run(a)) => execute::run(a, cli.message_format),
        Some(Command::Render(a)) => draw::render(a, cli.message_format),
        Some(Command::Test(a)) => execute::test(a, cli.message_format),
        Some(Command::Batch(a)) => batch::batch(a),
        Some(Command::Reduce(a)) => reduce::reduce(a, cli.message_format),
        Some(Command::Explain { code }) => explain(code.as_deref()),
        Some(Command::Completions { shell }) => {
            let mut out = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "shaderc", &mut out);
            files::stdout(&out)
        }
        Some(Command::Man) => {
            let mut out = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut out).map_err(|e| Failure::plain(1, "C0005", format!("cannot write: {e}")))?;
            files::stdout(&out)
        }
    }
}

/// `shaderc explain`
fn explain(code: Option<&str>) -> Result<(), Failure> {
    let all = retroshade::codes::all();
    let text = match code {
        None => all.iter().map(|e| format!("{}  {}\n", e.code, e.title)).collect(),
        Some(c) => match retroshade::codes::explain(c) {
            Some(e) => e.to_string(),
            None => {
                let hint = retroshade::lower::nearest::nearest(c, all.iter().map(|e| e.code));
                let hint = hint.map_or_else(String::new, |n| format!("; did you mean `{n}`?"));
                return Err(Failure::plain(1, "C0019", format!("no message has the code `{c}`{hint}")));
            }
        },
    };
    files::stdout(text.as_bytes())
}
