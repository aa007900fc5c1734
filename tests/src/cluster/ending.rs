//! The end of a cluster, clean or not.

use std::{fs, thread};

use rustix::process::Signal;

use super::Cluster;
use crate::node::{self, Node};
use crate::{built, docker};

impl Cluster {
    /// Stops all processes as an operator does and checks that none of them is left.
    pub fn stop(&mut self) {
        // All invokers are signalled first, so that they stop in parallel.
        for invoker in self.invokers.iter().filter_map(|it| it.node.as_ref()) {
            invoker.signal(Signal::TERM);
        }
        for member in self.invokers.iter_mut().chain(&mut self.controllers) {
            if let Some(node) = member.node.take() {
                node::assert_clean_exit(&member.name, node.terminate());
            }
        }
        let left = self.pack_processes();
        assert!(left.is_empty(), "processes outlive the cluster: {left:#?}");
        let left = self.containers();
        assert!(left.is_empty(), "containers outlive it: {left:#?}");
    }

    /// Cleans up after a failed test, so that it disturbs no other; checks nothing.
    fn sweep(&mut self) {
        for member in self.invokers.iter_mut().chain(&mut self.controllers) {
            if let Some(node) = member.node.take() {
                node.kill();
            }
        }
        for process in self.pack_processes() {
            node::kill(process.pid);
        }
        for container in self.containers() {
            docker::remove(&docker::id(&container));
        }
        let kept = built::repository().join("target/failed");
        let kept = kept.join(self.scratch.path().file_name().unwrap());
        let _ = fs::create_dir_all(&kept);
        for member in self.controllers.iter().chain(&self.invokers) {
            let log = member.data.join("logs/burst.log");
            eprintln!("{}", Node::last_lines(&member.log));
            eprintln!("{}", Node::last_lines(&log));
            let _ = fs::copy(&member.log, kept.join(format!("{}.out", member.name)));
            let _ = fs::copy(&log, kept.join(format!("{}.log", member.name)));
        }
        eprintln!("what the nodes logged is kept in {}", kept.display());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if thread::panicking() {
            self.sweep();
        } else {
            let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.stop()));
            if let Err(cause) = stopped {
                self.sweep();
                std::panic::resume_unwind(cause);
            }
        }
    }
}
