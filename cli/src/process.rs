//! Processes that may take too long.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Waits for a process, at most so long; then ends it.
pub fn wait(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        let so_far = start.elapsed();
        if so_far > time {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        // What is noticed late adds a tenth at most to a short run.
        std::thread::sleep((so_far / 10).clamp(Duration::from_micros(200), Duration::from_millis(50)));
    }
}
