//! Sequences of launches: played one by one the first time, as a graph from then on.

use std::collections::HashMap;

use kernels::cuda::driver::{Driver, DriverError, Event, Graph};
use kernels::cuda::launch::Launch;

/// What a graph was captured for; lengths are in the card's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GraphKey {
    pub(super) kind: GraphKind,
    pub(super) sequences: usize,
    /// Rows of each sequence.
    pub(super) window: usize,
    /// Parts that attention is cut into.
    pub(super) chunks: usize,
}

/// What a graph computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum GraphKind {
    /// One forward under a mask of `abi`.
    Forward(i32),
    /// Draft, verification, acceptance; with the token that fills the draft's window.
    Round(u32),
    /// One token.
    Token,
}

/// A step of a sequence.
pub(super) enum Node {
    Launch(Launch),
    Mark(Event),
}

/// What is known of a key.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// It ran once; a shape seen once is not worth a graph.
    Once,
    Graph(Graph),
    /// The driver made no graph of it.
    Refused,
}

/// The graphs that were captured.
#[derive(Default)]
pub(super) struct Graphs {
    known: HashMap<GraphKey, Known>,
    refusal: Option<DriverError>,
}

impl Graphs {
    /// Why the driver refused to make a graph, the first time that it did.
    pub(super) fn refusal(&self) -> Option<&DriverError> {
        self.refusal.as_ref()
    }

    /// The graph of a key, once there is one.
    pub(super) fn get(&self, key: GraphKey) -> Option<Graph> {
        match self.known.get(&key) {
            Some(&Known::Graph(graph)) => Some(graph),
            _ => None,
        }
    }

    /// Starts what a key without a graph stands for; says whether a new graph did it.
    pub(super) fn start(
        &mut self,
        driver: &mut dyn Driver,
        key: GraphKey,
        nodes: &[Node],
    ) -> Result<bool, DriverError> {
        let known = match self.known.get(&key) {
            None => Known::Once,
            Some(Known::Refused) => Known::Refused,
            Some(_) => match capture(driver, nodes) {
                Ok(graph) => Known::Graph(graph),
                // Slower, but right; what ails the card itself shows when it is tried.
                Err(refusal) => {
                    self.refusal.get_or_insert(refusal);
                    Known::Refused
                }
            },
        };
        self.known.insert(key, known);
        match known {
            Known::Graph(graph) => driver.replay(graph).map(|()| true),
            Known::Once | Known::Refused => issue(driver, nodes).map(|()| false),
        }
    }
}

fn capture(driver: &mut dyn Driver, nodes: &[Node]) -> Result<Graph, DriverError> {
    driver.begin_capture()?;
    let issued = issue(driver, nodes);
    let graph = driver.end_capture();
    issued?;
    graph
}

fn issue(driver: &mut dyn Driver, nodes: &[Node]) -> Result<(), DriverError> {
    nodes.iter().try_for_each(|node| match node {
        Node::Launch(launch) => driver.launch(launch),
        &Node::Mark(event) => driver.record(event),
    })
}
