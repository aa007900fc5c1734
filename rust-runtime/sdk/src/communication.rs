//! What workers say to each other: the BCM's operations, on the context.

use std::sync::Arc;

use burst_bcm::{Communicator, Error, Number, Payload, RecvRequest, Reducer, SendRequest};

use crate::context::BurstContext;

/// # Communication
///
/// A value sent to a worker of the same pack is moved, not copied; between packs it is carried by
/// the flare's backend. Every operation ends with an error when a peer fails, when the flare is
/// cancelled, or at its deadline. Who blocks, what each costs and what errors it gives stands at
/// the method of the same name of [`Communicator`], which groups have too.
impl BurstContext {
    /// Sends `value` to worker `dest`. Does not wait until it is received.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let (me, n) = (burst.worker_id(), burst.burst_size());
    ///     burst.send(format!("from {me}"), (me + 1) % n)?;
    ///     Ok(burst.recv::<String>((me + n - 1) % n)?)
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs[0], "from 2");
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn send<T: Payload>(&self, value: T, dest: u32) -> Result<(), Error> {
        self.seen(self.communicator.send(value, dest))
    }

    /// Receives the next value that worker `source` sent to this one.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     if burst.worker_id() == 0 {
    ///         burst.send(vec![0.5, 1.5], 1)?;
    ///         return Ok(0.0);
    ///     }
    ///     let values: Vec<f64> = burst.recv(0)?;
    ///     Ok(values.iter().sum())
    /// }, [(); 2], 1)?;
    /// assert_eq!(outputs[1], 2.0);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn recv<T: Payload>(&self, source: u32) -> Result<T, Error> {
        self.seen(self.communicator.recv(source))
    }

    /// Waits until every worker of the flare is here.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     burst.barrier()?;
    ///     Ok(burst.worker_id())
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs, [0, 1, 2]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn barrier(&self) -> Result<(), Error> {
        self.seen(self.communicator.barrier())
    }

    /// Gives everyone the value of worker `root`, which passes `Some`; all others pass `None`.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let model = (burst.worker_id() == 0).then(|| vec![1.0, 2.0]);
    ///     let model = burst.broadcast(model, 0)?;
    ///     Ok(model.len())
    /// }, [(); 4], 2)?;
    /// assert_eq!(outputs, [2; 4]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn broadcast<T: Payload>(&self, value: Option<T>, root: u32) -> Result<Arc<T>, Error> {
        self.seen(self.communicator.broadcast(value, root))
    }

    /// Combines everyone's value with `op` in the order of worker ids; `op` must be associative.
    /// Worker `root` gets the result.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let text = burst.worker_id().to_string();
    ///     Ok(burst.reduce(text, 0, |a, b| a + &b)?)
    /// }, [(); 4], 2)?;
    /// assert_eq!(outputs[0].as_deref(), Some("0123"));
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn reduce<T: Payload>(
        &self,
        value: T,
        root: u32,
        op: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, Error> {
        self.seen(self.communicator.reduce(value, root, op))
    }

    /// Combines everyone's value with `op`; everyone gets the result.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     Ok(*burst.all_reduce(burst.worker_id(), u32::max)?)
    /// }, [(); 4], 2)?;
    /// assert_eq!(outputs, [3; 4]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn all_reduce<T: Payload>(
        &self,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> Result<Arc<T>, Error> {
        self.seen(self.communicator.all_reduce(value, op))
    }

    /// Combines everyone's vector element by element; worker `root`'s then holds the result, and
    /// the others' nothing to rely on. The workers of a pack do it together.
    ///
    /// ```
    /// use burst::Reducer;
    ///
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let mut histogram = vec![1u64, u64::from(burst.worker_id())];
    ///     burst.reduce_elements(&mut histogram, 0, Reducer::Sum)?;
    ///     Ok(histogram)
    /// }, [(); 4], 2)?;
    /// assert_eq!(outputs[0], [4, 6]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn reduce_elements<E: Number>(
        &self,
        values: &mut Vec<E>,
        root: u32,
        reducer: Reducer,
    ) -> Result<(), Error> {
        self.seen(self.communicator.reduce_elements(values, root, reducer))
    }

    /// Combines everyone's vector element by element; everyone gets the result.
    ///
    /// ```
    /// use burst::Reducer;
    ///
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let gradient = vec![f64::from(burst.worker_id()); 3];
    ///     Ok(burst.all_reduce_elements(gradient, Reducer::Max)?.to_vec())
    /// }, [(); 4], 2)?;
    /// assert_eq!(outputs[2], [3.0; 3]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn all_reduce_elements<E: Number>(
        &self,
        values: Vec<E>,
        reducer: Reducer,
    ) -> Result<Arc<Vec<E>>, Error> {
        self.seen(self.communicator.all_reduce_elements(values, reducer))
    }

    /// Collects everyone's value at worker `root`, in the order of worker ids.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     Ok(burst.gather(burst.worker_id() * 10, 1)?)
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs[1], Some(vec![0, 10, 20]));
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn gather<T: Payload>(&self, value: T, root: u32) -> Result<Option<Vec<T>>, Error> {
        self.seen(self.communicator.gather(value, root))
    }

    /// Collects everyone's value for everyone, in the order of worker ids.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     Ok(burst.all_gather(burst.worker_id())?.to_vec())
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs[1], [0, 1, 2]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn all_gather<T: Payload>(&self, value: T) -> Result<Arc<Vec<T>>, Error> {
        self.seen(self.communicator.all_gather(value))
    }

    /// Deals out the values that worker `root` passes, one to each worker.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let parts = (burst.worker_id() == 0).then(|| vec!['a', 'b', 'c']);
    ///     Ok(burst.scatter(parts, 0)?)
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs, ['a', 'b', 'c']);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn scatter<T: Payload>(&self, values: Option<Vec<T>>, root: u32) -> Result<T, Error> {
        self.seen(self.communicator.scatter(values, root))
    }

    /// Sends the value at place `w` to each worker `w`; returns what each sent to this one.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let me = burst.worker_id();
    ///     // As many numbers for each worker as its id says.
    ///     let parts = (0..burst.burst_size()).map(|to| vec![me; to as usize]);
    ///     Ok(burst.all_to_all(parts.collect())?.concat())
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs[2], [0, 0, 1, 1, 2, 2]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn all_to_all<T: Payload>(&self, values: Vec<T>) -> Result<Vec<T>, Error> {
        self.seen(self.communicator.all_to_all(values))
    }

    /// As [`send`](Self::send), for whoever receives this tag; without one the tag is 0.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     if burst.worker_id() == 0 {
    ///         burst.send_tagged("second".to_owned(), 1, 2)?;
    ///         burst.send_tagged("first".to_owned(), 1, 1)?;
    ///         return Ok(vec![]);
    ///     }
    ///     Ok(vec![burst.recv_tagged::<String>(0, 1)?, burst.recv_tagged(0, 2)?])
    /// }, [(); 2], 1)?;
    /// assert_eq!(outputs[1], ["first", "second"]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn send_tagged<T: Payload>(&self, value: T, dest: u32, tag: u32) -> Result<(), Error> {
        self.seen(self.communicator.send_tagged(value, dest, tag))
    }

    /// As [`recv`](Self::recv), of the values sent with this tag.
    pub fn recv_tagged<T: Payload>(&self, source: u32, tag: u32) -> Result<T, Error> {
        self.seen(self.communicator.recv_tagged(source, tag))
    }

    /// Receives a value from whichever worker has sent one with this tag, and says who.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     if burst.worker_id() > 0 {
    ///         burst.send_tagged(burst.worker_id() * 10, 0, 7)?;
    ///         return Ok(0);
    ///     }
    ///     let mut sum = 0;
    ///     for _ in 1..burst.burst_size() {
    ///         let (worker, value): (u32, u32) = burst.recv_any(7)?;
    ///         assert_eq!(value, worker * 10);
    ///         sum += value;
    ///     }
    ///     Ok(sum)
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs[0], 30);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn recv_any<T: Payload>(&self, tag: u32) -> Result<(u32, T), Error> {
        self.seen(self.communicator.recv_any(tag))
    }

    /// Sends to worker `dest` and receives from worker `source`, which may be the same.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let (me, n) = (burst.worker_id(), burst.burst_size());
    ///     Ok(burst.send_recv(me, (me + 1) % n, (me + n - 1) % n)?)
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs, [2, 0, 1]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn send_recv<T: Payload>(&self, value: T, dest: u32, source: u32) -> Result<T, Error> {
        self.seen(self.communicator.send_recv(value, dest, source))
    }

    /// Begins to send and returns at once; the request tells when it is done.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let (me, n) = (burst.worker_id(), burst.burst_size());
    ///     let sending = burst.isend(vec![me; 1000], (me + 1) % n, 0)?;
    ///     let coming = burst.irecv::<Vec<u32>>((me + n - 1) % n, 0)?;
    ///     // … something useful, and then:
    ///     let got = coming.wait()?;
    ///     sending.wait()?;
    ///     Ok(got[0])
    /// }, [(); 3], 1)?;
    /// assert_eq!(outputs, [2, 0, 1]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn isend<T: Payload>(&self, value: T, dest: u32, tag: u32) -> Result<SendRequest, Error> {
        self.seen(self.handles().isend(value, dest, tag))
    }

    /// Begins to receive; the request gives the value. See also [`wait_any`](crate::wait_any).
    ///
    /// ```
    /// use burst::wait_any;
    ///
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     if burst.worker_id() > 0 {
    ///         burst.send(burst.worker_id(), 0)?;
    ///         return Ok(0);
    ///     }
    ///     let mut requests = vec![burst.irecv::<u32>(1, 0)?, burst.irecv(2, 0)?];
    ///     let (_, first) = wait_any(&mut requests)?;
    ///     let (_, second) = wait_any(&mut requests)?;
    ///     Ok(first + second)
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs[0], 3);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn irecv<T: Payload>(&self, source: u32, tag: u32) -> Result<RecvRequest<T>, Error> {
        self.seen(self.handles().irecv(source, tag))
    }

    /// An error once the flare has failed or was cancelled; never waits. For long stretches of work
    /// without communication, which would else go on for nobody.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let mut sum = 0u64;
    ///     for step in 0..1000 {
    ///         burst.check()?;
    ///         sum += step;
    ///     }
    ///     Ok(sum)
    /// }, [(); 2], 1)?;
    /// assert_eq!(outputs, [499_500; 2]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        self.seen(self.communicator.check())
    }

    /// Combines value `w` of everyone for worker `w`, in the order of worker ids.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let me = burst.worker_id();
    ///     Ok(burst.reduce_scatter(vec![me, me * 10, me * 100], |a, b| a + b)?)
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs, [3, 30, 300]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn reduce_scatter<T: Payload>(
        &self,
        values: Vec<T>,
        op: impl Fn(T, T) -> T,
    ) -> Result<T, Error> {
        self.seen(self.communicator.reduce_scatter(values, op))
    }

    /// Combines the values of all workers up to and including this one.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     Ok(burst.scan(burst.worker_id() + 1, |a, b| a + b)?)
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs, [1, 3, 6]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn scan<T: Payload + Clone>(&self, value: T, op: impl Fn(T, T) -> T) -> Result<T, Error> {
        self.seen(self.communicator.scan(value, op))
    }

    /// Combines the values of all workers before this one; `None` for worker 0.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     // Where this worker's rows begin among all.
    ///     let rows = 10 * (burst.worker_id() + 1);
    ///     Ok(burst.exclusive_scan(rows, |a, b| a + b)?.unwrap_or(0))
    /// }, [(); 3], 2)?;
    /// assert_eq!(outputs, [0, 10, 30]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn exclusive_scan<T: Payload + Clone>(
        &self,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, Error> {
        self.seen(self.communicator.exclusive_scan(value, op))
    }

    /// The workers of this one's pack as a group with ranks and collectives of its own.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let pack = burst.my_pack();
    ///     Ok((pack.rank(), *pack.all_reduce(1, |a, b| a + b)?))
    /// }, [(); 5], 3)?;
    /// assert_eq!(outputs, [(0, 3), (1, 3), (2, 3), (0, 2), (1, 2)]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn my_pack(&self) -> Communicator {
        self.handles().my_pack()
    }

    /// The first worker of each pack as a group; `None` for all others.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     match burst.pack_leaders() {
    ///         Some(leaders) => Ok(leaders.all_gather(burst.worker_id())?.to_vec()),
    ///         None => Ok(vec![]),
    ///     }
    /// }, [(); 5], 3)?;
    /// assert_eq!(outputs, [vec![0, 3], vec![], vec![], vec![0, 3], vec![]]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn pack_leaders(&self) -> Option<Communicator> {
        self.handles().pack_leaders()
    }

    /// Divides the workers into groups by color, ranked by key. All workers call it.
    ///
    /// ```
    /// let outputs = burst::testing::run(|_: (), burst| {
    ///     let me = burst.worker_id();
    ///     let Some(half) = burst.split(Some(me % 2), 0)? else {
    ///         return Ok(vec![]);
    ///     };
    ///     Ok(half.all_gather(me)?.to_vec())
    /// }, [(); 4], 2)?;
    /// assert_eq!(outputs[3], [1, 3]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Communicator>, Error> {
        self.seen(self.handles().split(color, key))
    }
}
