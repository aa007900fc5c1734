package burst.controller.scheduler

import burst.controller.flare.{ActivationFields, Flare, FlareState, WorkerResult, WorkerState}
import burst.controller.placement.Plan
import burst.controller.store.StoreProblem
import burst.protocol.*
import com.typesafe.config.ConfigFactory
import munit.FunSuite
import scala.concurrent.duration.DurationInt

import FlareEffect.*
import FlareLifecycle.Stage

/** Drives a lifecycle by hand and collects its effects. */
final class LifecycleDriver(
    size: Int = 4,
    retries: Int = 0,
    cleans: Boolean = false,
    packs: Vector[(String, Int)] = Vector("a" -> 2, "b" -> 2),
    activation: Option[ActivationFields] = None
):
  val flare: Flare =
    AdmissionControl.accept(
      Samples.request(size, retries = retries).copy(activation = activation),
      Timestamp.Epoch
    )
  var life: FlareLifecycle = FlareLifecycle.queued(flare, Samples.settings.terms(cleans))
  var effects: Vector[FlareEffect] = Vector.empty
  var at: Timestamp = Timestamp.Epoch

  def happen(event: FlareEvent): LifecycleDriver =
    val step = life.step(event)
    life = step.state
    effects = effects ++ step.effects
    this

  def plan: Plan = Plan.of(packs.map((id, n) => (InvokerId(id), n)), 2)
  def attempt: Int = life.flare.attempt
  def place(): LifecycleDriver = happen(FlareEvent.Placed(attempt, plan, at))
  def stored(state: FlareState): LifecycleDriver = happen(FlareEvent.Stored(attempt, state, at))
  def inputsRead(): LifecycleDriver = happen(FlareEvent.InputsRead(attempt, at))
  def start(): LifecycleDriver = place().stored(FlareState.Starting).inputsRead()

  def report(pack: Int, events: PackEvent*): LifecycleDriver = reportOf(attempt, pack, events*)

  def reportOf(attempt: Int, pack: Int, events: PackEvent*): LifecycleDriver =
    val invoker = InvokerId(packs(pack)._1)
    happen(FlareEvent.Reported(
      PackReport(flare.id, attempt, PackId(pack), invoker, None, events.toVector),
      at
    ))

  def expire(timer: FlareTimer): LifecycleDriver = happen(FlareEvent.Expired(timer, attempt, at))
  def lose(invoker: String): LifecycleDriver =
    happen(FlareEvent.InvokerLost(InvokerId(invoker), InvokerLoss.ProcessEnded, at))
  def run(): LifecycleDriver =
    start()
    packs.indices.foreach(p => report(p, PackEvent.Ready(Some(s"host:$p"), Timestamp.Epoch)))
    this

  def announced: Vector[Flare] = effects.collect { case Announce(flare) => flare }
  def released: Vector[(Int, Int)] = effects.collect { case Release(attempt, packs) =>
    packs.map((attempt, _))
  }.flatten
  def results: Vector[WorkerResult] = effects.collect { case StoreResults(results) => results }.flatten
  def aborts: Vector[Failure] = effects.collect { case Abort(_, failure) => failure }

class FlareLifecycleSuite extends FunSuite:
  private def ok(worker: Int) = PackEvent.WorkerSucceeded(worker, worker.toString, Timestamp.ofMicros(1))
  private def ended(error: Option[Failure] = None) =
    PackEvent.PackEnded(error.isEmpty, error, Timestamp.ofMicros(2))
  private def failure(kind: FailureKind, message: String = "it broke") = Failure(kind, message)
  private def failed(worker: Int, kind: FailureKind, message: String = "it broke") =
    PackEvent.WorkerFailed(worker, failure(kind, message), Timestamp.ofMicros(1))

  private def failedBy(worker: Int, kind: FailureKind, who: Option[Int], operation: Option[String] = None) =
    PackEvent.WorkerFailed(
      worker,
      failure(kind).copy(worker = who, operation = operation),
      Timestamp.ofMicros(1)
    )
  private def overdue(worker: Int, operation: String) =
    failedBy(worker, FailureKind.Timeout, Some(worker), Some(operation))

  test(
    "a start that is reported with the end lies between the request and the end"
  ):
    def started(worker: Timestamp): Option[Timestamp] =
      val driver = LifecycleDriver(size = 1, packs = Vector("a" -> 1))
      driver.at = Timestamp.ofMicros(100)
      driver.start()
      driver.at = Timestamp.ofMicros(500)
      driver.report(
        0,
        PackEvent.Ready(None, Timestamp.Epoch),
        PackEvent.WorkerStarted(0, worker),
        ok(0),
        ended()
      )
      assertEquals(driver.life.flare.state, FlareState.Succeeded)
      driver.life.flare.started
    assertEquals(
      Vector(300, 7, 9000).map(worker => started(Timestamp.ofMicros(worker))),
      Vector(300, 100, 500).map(start => Some(Timestamp.ofMicros(start)))
    )

  test("failure messages of packs are truncated, and lines of other packs' workers are dropped"):
    val driver = LifecycleDriver().run()
    def log(worker: Option[Int], text: String) =
      PackEvent.Log(worker, LogStream.Stdout, text, Timestamp.ofMicros(1))
    driver.report(
      0,
      log(Some(0), "own"),
      log(Some(3), "another's"),
      log(Some(99), "nobody's"),
      log(None, "all")
    )
    val texts = driver.effects.collect { case StoreLogs(texts) => texts }.flatten
    assertEquals(texts.map(_.text), Vector("own", "all"))
    driver.report(0, failed(0, FailureKind.Error, "x" * (1 << 20)))
    driver.report(0, ended()).report(1, ended(Some(failure(FailureKind.Error, "y" * (1 << 20)))))
    val messages = driver.announced.flatMap(_.error) ++ driver.life.flare.workers.flatMap(_.error) ++
      driver.results.flatMap(_.error)
    assert(messages.nonEmpty && messages.forall(_.message.length < 5000), messages.map(_.message.length))

  test("a flare that succeeds"):
    val driver = LifecycleDriver().place()
    assertEquals(driver.life.stage, Stage.Placing)
    assert(!driver.effects.exists(_.isInstanceOf[Prepare]), "nothing is sent before the flare is stored")
    driver.stored(FlareState.Starting)
    assert(!driver.effects.exists(_.isInstanceOf[Prepare]), "nor before its inputs have been read")
    driver.inputsRead()
    assert(driver.effects.contains(Prepare(driver.plan)))
    driver.report(0, PackEvent.Ready(Some("h:0"), Timestamp.Epoch))
    assertEquals(driver.life.stage, Stage.Starting)
    driver.report(1, PackEvent.Ready(Some("h:1"), Timestamp.Epoch))
    assert(driver.effects.contains(Start(Vector(Some("h:0"), Some("h:1")))))
    assertEquals(driver.life.record.state, FlareState.Running)
    driver.report(0, PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)), ok(0), ok(1), ended())
    assertEquals(driver.released, Vector((1, 0)), "a pack's slots are released when it ends")
    driver.report(1, ok(2), ok(3), ended())
    assertEquals(driver.announced, Vector.empty, "nothing is announced before it is stored")
    driver.stored(FlareState.Succeeded)
    assertEquals(driver.announced.map(_.state), Vector(FlareState.Succeeded))
    assertEquals(driver.released, Vector((1, 0), (1, 1)))
    assertEquals(driver.results.flatMap(_.output), Vector("0", "1", "2", "3").map(Samples.output))
    assert(driver.effects.contains(Retire))

  test("a single pack needs no start"):
    val driver = LifecycleDriver(2, packs = Vector("a" -> 2)).start()
    driver.report(
      0,
      PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)),
      ok(0),
      ok(1),
      ended()
    ).stored(FlareState.Succeeded)
    assertEquals(driver.announced.map(_.state), Vector(FlareState.Succeeded))
    assert(!driver.effects.exists(_.isInstanceOf[Start]))

  test("the first failure decides, all packs are aborted, and every worker has an output or an error"):
    val driver = LifecycleDriver().run().report(0, ok(0), failed(1, FailureKind.Panic, "out of bounds"))
    assertEquals(
      driver.aborts,
      Vector(
        Failure(
          FailureKind.Panic,
          "out of bounds",
          Some(1),
          Some(PackId(0)),
          Some(InvokerId("a")),
          Some("work")
        )
      )
    )
    driver
      .report(1, failed(2, FailureKind.Error, "second"), ended(Some(failure(FailureKind.PackLost))))
      .report(0, ended())
      .stored(FlareState.Failed)
    val flare = driver.announced.head
    assertEquals(flare.error.map(_.message), Some("out of bounds"))
    assertEquals(driver.results.map(_.worker).sorted, Vector(0, 1, 2, 3))
    val peer = driver.results.find(_.worker == 3).flatMap(_.error).get
    assertEquals(peer.kind, FailureKind.PeerFailed)
    assert(peer.message.contains("worker 1, pack 0, invoker a") && peer.message.contains("out of bounds"))
    assertEquals(
      flare.workers.map(_.state),
      Vector(WorkerState.Succeeded, WorkerState.Failed, WorkerState.Failed, WorkerState.Failed)
    )

  test("a peer-failed never takes precedence over the peer's own failure"):
    val driver = LifecycleDriver().run().report(1, failed(2, FailureKind.PeerFailed))
    assertEquals(driver.aborts, Vector.empty)
    driver.report(0, failed(0, FailureKind.Error, "mine"))
    assertEquals(driver.life.cause.map(_.failure.message), Some("mine"))

  test("a peer-failed alone is a provisional cause after its grace, until its explanation replaces it"):
    val driver =
      LifecycleDriver().run().report(1, failed(2, FailureKind.PeerFailed)).expire(FlareTimer.PeerGrace)
    assertEquals(driver.aborts.map(_.kind), Vector(FailureKind.PeerFailed))
    driver.report(1, ended(Some(failure(FailureKind.PackLost, "killed when told to end"))))
    assertEquals(driver.life.cause.map(_.failure.kind), Some(FailureKind.PeerFailed))
    driver.lose("a").stored(FlareState.Failed)
    assertEquals(driver.announced.flatMap(_.error).map(_.kind), Vector(FailureKind.InvokerLost))

  test("a pack that ends without a report, or before it was ready, fails the flare"):
    val silent = LifecycleDriver().run().report(0, ok(0), ended())
    assertEquals(
      silent.aborts.map(f => (f.kind, f.worker, f.pack)),
      Vector((FailureKind.PackLost, Some(1), Some(PackId(0))))
    )
    val unready = LifecycleDriver().start().report(1, ended())
    assertEquals(
      unready.aborts.map(f => (f.kind, f.operation)),
      Vector((FailureKind.StartFailed, Some("start")))
    )

  test("an error of a pack whose workers all succeeded changes nothing"):
    val driver = LifecycleDriver().run()
    driver.report(0, ok(0), ok(1), ended(Some(failure(FailureKind.Exit)))).report(1, ok(2), ok(3), ended())
    driver.stored(FlareState.Succeeded)
    assertEquals(driver.announced.map(_.state), Vector(FlareState.Succeeded))

  test("packs of a lost invoker have ended, and their workers' errors name the loss"):
    val driver = LifecycleDriver().run().lose("b")
    assertEquals(driver.released, Vector((1, 1)))
    assertEquals(driver.effects.collect { case Abort(packs, _) => packs }, Vector(Vector(PackId(0))))
    driver.report(0, ended()).stored(FlareState.Failed)
    assertEquals(
      driver.results.map(r => (r.worker, r.error.map(_.kind))).sortBy(_._1),
      Vector(
        (0, Some(FailureKind.PeerFailed)),
        (1, Some(FailureKind.PeerFailed)),
        (2, Some(FailureKind.InvokerLost)),
        (3, Some(FailureKind.InvokerLost))
      )
    )

  for (name, reach) <- Vector[(String, LifecycleDriver => LifecycleDriver)](
      "waiting" -> identity,
      "placing" -> (_.place()),
      "starting" -> (_.start()),
      "running" -> (_.run())
    )
  do
    test(s"a flare can be cancelled while $name"):
      val driver = reach(LifecycleDriver(retries = 3)).happen(FlareEvent.Cancel(Timestamp.ofMicros(5)))
      val told = name == "starting" || name == "running"
      assertEquals(driver.aborts.map(_.kind), if told then Vector(FailureKind.Cancelled) else Vector.empty)
      if told then driver.report(0, ended()).report(1, ended())
      driver.stored(FlareState.Cancelled)
      val flare = driver.announced.head
      assertEquals(flare.state, FlareState.Cancelled)
      assertEquals(flare.workers.map(_.state).distinct, Vector(WorkerState.Cancelled))
      assertEquals(driver.results.map(_.error.map(_.kind)).distinct, Vector(Some(FailureKind.Cancelled)))
      assertEquals(driver.released.length, if name == "waiting" then 0 else 2)
      assert(!driver.life.cancellable)

  test("slots given to a flare that has since been cancelled go back"):
    val driver = LifecycleDriver().happen(FlareEvent.Cancel(Timestamp.Epoch)).place()
    assertEquals(driver.released, Vector((1, 0), (1, 1)))
    assert(!driver.effects.exists(_.isInstanceOf[Prepare]))

  test("a time-out ends the flare, even if a worker's own clock reports it first"):
    val driver = LifecycleDriver().run().report(0, ok(0)).expire(FlareTimer.Deadline)
    assertEquals(driver.aborts.map(f => (f.kind, f.worker)), Vector((FailureKind.Timeout, None)))
    driver.report(0, overdue(1, "work"), ended()).report(1, ended()).stored(FlareState.TimedOut)
    val error = driver.announced.head.error.get
    assertEquals((error.kind, error.worker, error.pack), (FailureKind.Timeout, Some(1), Some(PackId(0))))
    assertEquals(driver.results.count(_.error.exists(_.kind == FailureKind.Timeout)), 3)
    val early = LifecycleDriver().run()
    early.at = Timestamp.Epoch + 1.minute
    early.report(0, failed(0, FailureKind.Timeout)).report(0, ended()).report(1, ended())
    assertEquals(early.life.flare.state, FlareState.TimedOut)

  test("a time-out is withdrawn if all workers turn out to have met it"):
    val driver = LifecycleDriver().run().report(0, ok(0), ok(1)).expire(FlareTimer.Deadline)
    assertEquals(driver.aborts.map(_.kind), Vector(FailureKind.Timeout))
    driver.report(1, ok(2), ok(3), ended()).report(0, ended()).stored(FlareState.Succeeded)
    assertEquals(
      driver.announced.map(flare => (flare.state, flare.error)),
      Vector((FlareState.Succeeded, None))
    )

  test("a time-out names the worker that ran, not those that waited, in any order of reports"):
    def error(events: (Int, PackEvent)*) =
      val driver = LifecycleDriver().run()
      driver.at = Timestamp.Epoch + 1.minute
      events.foreach((pack, event) => driver.report(pack, event))
      driver.report(0, ended()).report(1, ended()).stored(FlareState.TimedOut)
      assertEquals(driver.announced.map(_.state), Vector(FlareState.TimedOut))
      driver.announced.head.error.get
    val one = error(0 -> overdue(0, "recv"), 0 -> ok(1), 1 -> overdue(2, "barrier"), 1 -> overdue(3, "work"))
    assertEquals(
      (one.worker, one.pack, one.invoker, one.operation),
      (Some(3), Some(PackId(1)), Some(InvokerId("b")), Some("work"))
    )
    assertEquals(
      one.message,
      "the flare did not end within its time-out of 1 minute: worker 3 was still computing, 2 workers waited for others"
    )
    val all = error((0 to 3).map(worker => worker / 2 -> overdue(worker, "work"))*)
    assert(all.message.endsWith(": workers 0, 1 and 2 more were still computing"), all.message)
    val none = error((0 to 3).map(worker => worker / 2 -> overdue(worker, "recv"))*)
    assertEquals((none.worker, none.operation), (None, Some("recv")))
    assert(none.message.contains("none was computing (worker 0: it broke)"), none.message)
    val silent = error(0 -> overdue(0, "recv"), 0 -> overdue(1, "recv"))
    assertEquals(silent.worker, None)
    assert(silent.message.endsWith("; what workers 2 and 3 were doing is not known"), silent.message)

  test("a time-out before all packs were ready names a pack that was not"):
    val driver =
      LifecycleDriver().start().report(0, PackEvent.Ready(None, Timestamp.Epoch)).expire(FlareTimer.Deadline)
    driver.report(0, overdue(0, "start"), overdue(1, "start"), ended()).report(1, ended())
    driver.stored(FlareState.TimedOut)
    val error = driver.announced.head.error.get
    assertEquals((error.worker, error.pack, error.operation), (None, Some(PackId(1)), Some("start")))

  test("no worker is named if it is unknown which one ended the process"):
    def error(failed: PackEvent) =
      val driver = LifecycleDriver().run().report(1, failed, failedBy(3, FailureKind.OutOfMemory, None))
      driver.report(0, ended()).report(1, ended()).stored(FlareState.Failed)
      driver.announced.head.error.get
    val unknown = error(failedBy(2, FailureKind.OutOfMemory, None))
    assertEquals(
      (unknown.worker, unknown.pack, unknown.invoker),
      (None, Some(PackId(1)), Some(InvokerId("b")))
    )
    assertEquals(error(failedBy(2, FailureKind.OutOfMemory, Some(2))).worker, Some(2))
    val silent = LifecycleDriver().run().report(1, ended())
    assertEquals(silent.aborts.map(f => (f.worker, f.pack)), Vector((None, Some(PackId(1)))))

  test("packs that are not ready in time are named"):
    val driver =
      LifecycleDriver().start().report(0, PackEvent.Ready(None, Timestamp.Epoch)).expire(FlareTimer.Start)
    val error = driver.aborts.head
    assertEquals(
      (error.kind, error.pack, error.invoker),
      (FailureKind.StartFailed, Some(PackId(1)), Some(InvokerId("b")))
    )

  test("waiting in the queue is limited"):
    val driver = LifecycleDriver().expire(FlareTimer.Queue).stored(FlareState.TimedOut)
    assert(driver.effects.contains(LeaveQueue))
    assertEquals(driver.announced.flatMap(_.error).map(_.operation), Vector(Some("queue")))

  test("packs that never report are given up; their slots come back only when they are known dead"):
    val driver = LifecycleDriver().run().happen(FlareEvent.Cancel(Timestamp.Epoch)).report(0, ended())
    driver.expire(FlareTimer.Abort).stored(FlareState.Cancelled)
    assertEquals(driver.announced.map(_.state), Vector(FlareState.Cancelled))
    assertEquals(driver.released, Vector((1, 0)))
    assert(!driver.effects.contains(Retire))
    driver.report(1, ok(2), ended())
    assertEquals(driver.released, Vector((1, 0), (1, 1)))
    assert(driver.effects.contains(Retire))

  for (order, last) <- Vector[(String, LifecycleDriver => LifecycleDriver)](
      "before its end is stored" -> (_.report(1, ended()).stored(FlareState.Cancelled)),
      "after its end was stored" -> (_.stored(FlareState.Cancelled).report(1, ended())),
      "with its invoker, before" -> (_.lose("b").stored(FlareState.Cancelled))
    )
  do
    test(s"a flare's backend is cleaned once its abandoned pack has ended, $order"):
      val driver =
        LifecycleDriver(cleans = true).run().happen(FlareEvent.Cancel(Timestamp.Epoch)).report(0, ended())
      driver.expire(FlareTimer.Abort)
      assertEquals((driver.life.stage, driver.effects.count(_ == Clean)), (Stage.Closing, 0))
      last(driver).report(1, ended()).happen(FlareEvent.Cleaned(None, Timestamp.Epoch))
      assertEquals((driver.life.stage, driver.effects.count(_ == Clean)), (Stage.Ended, 1))
      assertEquals(driver.effects.count(_ == Retire), 1)

  /** A flare whose peer on the other machine was lost, and whose pack here has ended. */
  private def silent(retries: Int) =
    val driver = LifecycleDriver(retries = retries).run()
    driver.report(0, failed(0, FailureKind.PeerFailed), failed(1, FailureKind.PeerFailed), ended())
    driver.expire(FlareTimer.PeerGrace)
    assertEquals(driver.life.stage, Stage.Stopping)
    driver.expire(FlareTimer.Abort)

  test("a flare with retries left runs again once its silent machine is known to be lost"):
    val driver = silent(retries = 1)
    assertEquals((driver.life.stage, driver.announced), (Stage.Stopping, Vector.empty))
    driver.lose("b")
    assert(driver.effects.contains(Requeue(2)), driver.effects)
    assertEquals(driver.released.toSet, Set((1, 0), (1, 1)))

  test("the wait for a machine whose packs do not end, and which is not lost, is limited"):
    val driver = silent(retries = 1).expire(FlareTimer.Loss).stored(FlareState.Failed)
    assertEquals(driver.announced.map(_.state), Vector(FlareState.Failed))
    val error = driver.announced.flatMap(_.error).head
    assertEquals(
      (error.kind, error.pack, error.invoker),
      (FailureKind.PackLost, Some(PackId(1)), Some(InvokerId("b")))
    )
    assert(error.message.contains("did not report its end") && error.message.contains("worker 0"), error)

  test(
    "a flare does not wait for a machine's loss without retries, or once it is cancelled"
  ):
    assertEquals(silent(retries = 0).stored(FlareState.Failed).announced.length, 1)
    val driver = silent(retries = 1).happen(FlareEvent.Cancel(Timestamp.Epoch)).stored(FlareState.Failed)
    assertEquals(driver.announced.map(_.state), Vector(FlareState.Failed))

  test("a retry discards the attempt, including its late reports"):
    val driver = LifecycleDriver(retries = 1).run().report(0, ok(0), failed(1, FailureKind.Error), ended())
    driver.report(1, ended())
    assertEquals(
      driver.effects.filter(e => e == ClearAttempt || e == Requeue(2)),
      Vector(ClearAttempt, Requeue(2))
    )
    assertEquals((driver.life.stage, driver.life.flare.attempt), (Stage.Waiting, 2))
    assertEquals(driver.life.record.workers.map(_.state).distinct, Vector(WorkerState.Pending))
    driver.run().reportOf(1, 0, failed(0, FailureKind.Panic)).reportOf(1, 0, ended())
    assertEquals(driver.life.cause, None)
    driver.report(
      0,
      failed(0, FailureKind.Error, "again"),
      ended()
    ).report(1, ended()).stored(FlareState.Failed)
    assertEquals(driver.announced.map(f => (f.attempt, f.error.map(_.message))), Vector((2, Some("again"))))
    assertEquals(driver.released, Vector((1, 0), (1, 1), (2, 0), (2, 1)))

  test("a retry of an attempt without requested packs clears nothing: it may now be a successor's"):
    val driver = LifecycleDriver(retries = 1).place()
    driver.lose("a")
    assertEquals(
      driver.effects.filter(e => e == ClearAttempt || e == Requeue(2)),
      Vector(Requeue(2))
    )
    driver.happen(FlareEvent.Stored(1, FlareState.Starting, Timestamp.Epoch))
    assertEquals((driver.life.stage, driver.life.flare.attempt), (Stage.Waiting, 2))

  test("a flare whose machine is lost before a pack was requested is placed again, whatever its retries"):
    val driver = LifecycleDriver(retries = 0).place()
    driver.lose("a")
    assert(driver.effects.contains(Requeue(2)))
    assert(!driver.effects.exists(_.isInstanceOf[Prepare]))

  test("a flare that still reads its inputs ends when its group ends"):
    for driver <- Vector(LifecycleDriver().place(), LifecycleDriver().place().stored(FlareState.Starting)) do
      driver.happen(FlareEvent.GroupEnded(Timestamp.Epoch)).inputsRead().stored(FlareState.Failed)
      assertEquals(driver.announced.flatMap(_.error), Vector(FlareEnding.groupEnded.failure))
      assertEquals(driver.released, Vector((1, 0), (1, 1)))
      assert(!driver.effects.exists(_.isInstanceOf[Prepare]))

  test("intended ends, invalid inputs and failures of store and controller are not retried"):
    for (state, kind, again) <- Vector(
        (FlareState.Failed, FailureKind.OutOfMemory, true),
        (FlareState.Failed, FailureKind.InvokerLost, true),
        (FlareState.Failed, FailureKind.InvalidInput, false),
        (FlareState.Failed, FailureKind.Internal, false),
        (FlareState.Cancelled, FailureKind.Cancelled, false),
        (FlareState.TimedOut, FailureKind.Timeout, false)
      )
    do assertEquals(FlareEnding.retriable(Cause(state, failure(kind))), again, kind.toString)

  test("the backend is cleaned before the end, and before a retry"):
    val good =
      LifecycleDriver(cleans = true).run().report(0, ok(0), ok(1), ended()).report(1, ok(2), ok(3), ended())
    assertEquals(good.life.stage, Stage.Cleaning)
    good.expire(FlareTimer.Clean).stored(FlareState.Succeeded)
    assertEquals(good.announced.map(_.state), Vector(FlareState.Succeeded), "a failed clean-up is only noted")
    assert(good.effects.exists(_.isInstanceOf[Note]))
    val bad =
      LifecycleDriver(cleans = true, retries = 1).run().report(0, failed(0, FailureKind.Error), ended())
    bad.report(1, ended()).happen(FlareEvent.Cleaned(None, Timestamp.Epoch))
    assertEquals(bad.life.flare.attempt, 2)
    val dirty =
      LifecycleDriver(cleans = true, retries = 1).run().report(0, failed(0, FailureKind.Error), ended())
    dirty.report(1, ended()).happen(FlareEvent.Cleaned(Some(failure(FailureKind.Backend)), Timestamp.Epoch))
    assertEquals(
      dirty.life.flare.state,
      FlareState.Failed,
      "an attempt must not meet the last one's messages"
    )

  /** A failed flare whose backend clean-up takes longer than it may delay the end. */
  private def slowlyCleaned(retries: Int) =
    val driver =
      LifecycleDriver(cleans = true, retries = retries).run().report(0, failed(0, FailureKind.Error), ended())
    driver.report(1, ended()).expire(FlareTimer.Clean)

  test("a retry waits for a slow clean-up and begins when it is done"):
    val driver = slowlyCleaned(retries = 1)
    assertEquals((driver.life.stage, driver.announced), (Stage.Cleaning, Vector.empty))
    assert(driver.effects.contains(SetTimer(FlareTimer.Loss)), driver.effects)
    assert(driver.life.cancellable)
    // The deadline belonged to the attempt that is over.
    driver.expire(FlareTimer.Deadline).happen(FlareEvent.Cleaned(None, Timestamp.Epoch))
    assertEquals((driver.life.stage, driver.life.flare.attempt), (Stage.Waiting, 2))
    assert(driver.effects.contains(StopTimer(FlareTimer.Loss)), driver.effects)
    assertEquals(driver.effects.filter(e => e == Clean || e == Requeue(2)), Vector(Clean, Requeue(2)))
    // The next attempt's clean-up has its full time again.
    driver.run().report(0, ok(0), ok(1), ended()).report(1, ok(2), ok(3), ended())
    assertEquals((driver.life.stage, driver.life.isCleanLate), (Stage.Cleaning, false))

  test("a slow clean-up that fails or never ends prevents the retry, and delays no other end"):
    def over(driver: LifecycleDriver) =
      driver.stored(FlareState.Failed)
      assertEquals(driver.announced.map(f => (f.state, f.attempt)), Vector((FlareState.Failed, 1)))
      driver.effects.collect { case Note(message) => message }.mkString
    val never = over(slowlyCleaned(retries = 1).expire(FlareTimer.Loss))
    assert(never.contains("not cleaned within 37 seconds"), never)
    val error = Some(failure(FailureKind.Backend, "it is gone"))
    val failed = over(slowlyCleaned(retries = 1).happen(FlareEvent.Cleaned(error, Timestamp.Epoch)))
    assert(failed.contains("it is gone"), failed)
    val last = over(slowlyCleaned(retries = 0))
    assert(last.contains("not cleaned within 2 seconds"), last)

  test("a flare that is cancelled or broken during a slow clean-up ends immediately"):
    val broken = FlareEvent.Broken(Breakage.InputsUnreadable, Timestamp.Epoch)
    for event <- Vector(FlareEvent.Cancel(Timestamp.Epoch), broken) do
      val driver = slowlyCleaned(retries = 1).happen(event)
      assertEquals((driver.life.stage, driver.life.cancellable), (Stage.Closing, false))
      driver.happen(FlareEvent.Cleaned(None, Timestamp.Epoch)).stored(FlareState.Failed)
      assertEquals(driver.announced.map(f => (f.state, f.attempt)), Vector((FlareState.Failed, 1)))

  test("a cancelled flare's clean-up takes no longer than it may delay the end"):
    val driver =
      LifecycleDriver(cleans = true, retries = 1).run().report(0, failed(0, FailureKind.Error), ended())
    driver.report(1, ended()).happen(FlareEvent.Cancel(Timestamp.Epoch))
    assertEquals(driver.life.stage, Stage.Cleaning)
    driver.expire(FlareTimer.Clean).stored(FlareState.Failed)
    assertEquals(driver.announced.map(_.state), Vector(FlareState.Failed))

  test("a retry waits as long as an invoker may take to clean, however short the contact timeout"):
    for contact <- Vector("25s", "1s") do
      val config = ConfigFactory
        .parseString(s"burst.invokers.contact-timeout = $contact")
        .withFallback(ConfigFactory.load())
      assertEquals(SchedulerSettings.from(config).lossDeadline, 35.seconds)

  test("a failing store ends the flare, which is announced even if it cannot be stored"):
    val driver = LifecycleDriver().run().happen(FlareEvent.StoreFailed(
      StorageFailure(StoreProblem.DatabaseAway),
      Timestamp.Epoch
    ))
    assertEquals(driver.aborts.map(_.kind), Vector(FailureKind.Internal))
    driver.report(
      0,
      ended()
    ).report(
      1,
      ended()
    ).happen(FlareEvent.StoreFailed(StorageFailure(StoreProblem.DatabaseAway), Timestamp.Epoch))
    assertEquals(driver.announced.map(_.state), Vector(FlareState.Failed))
    val late = LifecycleDriver().run().report(0, ok(0), ok(1), ended()).report(1, ok(2), ok(3), ended())
    late.happen(FlareEvent.StoreFailed(StorageFailure(StoreProblem.DatabaseAway), Timestamp.Epoch))
    assertEquals(
      late.announced.map(_.state),
      Vector(FlareState.Failed),
      "a result that is not stored does not count"
    )

  test("a time-out due to outputs that cannot be kept is the platform's fault, unless a worker still ran"):
    def error(first: PackEvent) =
      val driver = LifecycleDriver().run().report(1, ok(2), PackEvent.Output(3, "[1,"))
      driver.happen(FlareEvent.Gathered(Some(StorageFailure(StoreProblem.DiskFull, Set(3)))))
      driver.report(0, ok(0)).expire(FlareTimer.Deadline).report(0, first, ended()).report(1, ended())
      assert(driver.effects.contains(Release(1, Vector(PackId(1)))), "its slots are free")
      driver.stored(driver.life.flare.state)
      (driver.announced.head.state, driver.announced.head.error.get)
    val (state, held) = error(ok(1))
    assertEquals((state, held.kind, held.operation), (FlareState.Failed, FailureKind.Internal, Some("store")))
    assertEquals(
      held.message,
      "the flare did not end within its time-out of 1 minute: the output of worker 3 could not be kept, as the " +
        "controller's disk is full; run the flare again once there is room"
    )
    val (late, ran) = error(overdue(1, "work"))
    assertEquals((late, ran.kind, ran.worker), (FlareState.TimedOut, FailureKind.Timeout, Some(1)))
    assert(ran.message.contains("worker 3 could not be kept, as the controller's disk is full"), ran.message)

  test("outputs that are given up are missing, and the workers that sent them have failed"):
    val driver =
      LifecycleDriver().run().report(0, ok(0), ok(1), ended()).report(1, ok(2), ok(3), ended())
    driver.happen(FlareEvent.StoreFailed(
      StorageFailure(StoreProblem.BlobsAway, Set(1, 3)),
      Timestamp.ofMicros(7)
    ))
    val flare = driver.announced.head
    assertEquals((flare.state, flare.error.map(_.kind)), (FlareState.Failed, Some(FailureKind.Internal)))
    assertEquals(
      flare.error.map(_.message),
      Some(
        "the outputs of workers 1 and 3 could not be kept, as the store of large outputs fails or does not " +
          "answer; run the flare again once it is well again"
      )
    )
    assertEquals(flare.workers.filter(_.state == WorkerState.Failed).map(_.worker), Vector(1, 3))
    assertEquals(
      flare.workers(3).error.map(f => (f.worker, f.pack, f.operation)),
      Some((Some(3), Some(PackId(1)), Some("store")))
    )
    assertEquals(driver.results.filter(_.error.nonEmpty).map(_.worker), Vector(1, 3))

  test("reports from the wrong invoker, or about wrong workers or packs, change nothing"):
    val driver = LifecycleDriver().run()
    val before = driver.life
    driver.happen(FlareEvent.Reported(
      PackReport(driver.flare.id, 1, PackId(0), InvokerId("b"), None, Vector(ended())),
      Timestamp.Epoch
    ))
    driver.happen(FlareEvent.Reported(
      PackReport(driver.flare.id, 1, PackId(9), InvokerId("b"), None, Vector(ended())),
      Timestamp.Epoch
    ))
    driver.report(0, ok(2), ok(99), failed(-1, FailureKind.Error))
    assertEquals(driver.life, before)

  test("an invocation that has not begun is started elsewhere, at most twice; one that has is not"):
    val fields = ActivationFields("guest/hello", "0.0.1", "t", 10, 1, None, false, None, false, None)
    def driver = LifecycleDriver(size = 1, packs = Vector("a" -> 1), activation = Some(fields))
    def lost = FlareEvent.InvokerLost(InvokerId("a"), InvokerLoss.ProcessEnded, Timestamp.ofMicros(5))
    val unbegun = driver.start().happen(lost)
    assertEquals((unbegun.life.stage, unbegun.attempt), (Stage.Waiting, 2))
    unbegun.start().happen(lost)
    assertEquals((unbegun.life.stage, unbegun.attempt), (Stage.Waiting, 3))
    unbegun.start().happen(lost)
    assertEquals(unbegun.life.stage, Stage.Closing)
    val begun = driver.run().happen(lost)
    assertEquals(begun.life.stage, Stage.Closing)
    val about = driver.start()
    def begins(driver: LifecycleDriver, begins: Boolean) =
      val report =
        PackReport(driver.flare.id, 1, PackId(0), InvokerId("a"), None, Vector.empty, begins = Some(begins))
      driver.happen(FlareEvent.Reported(report, Timestamp.ofMicros(4)))
    assertEquals(begins(about, true).happen(lost).life.stage, Stage.Closing)
    def died = ended(Some(failure(FailureKind.PackLost)))
    assertEquals(begins(driver.start(), true).report(0, died).life.stage, Stage.Closing)
    val replaced = begins(begins(driver.start(), true), false).report(0, died)
    assertEquals((replaced.life.stage, replaced.attempt), (Stage.Waiting, 2))
    val plain = LifecycleDriver(size = 1, packs = Vector("a" -> 1)).start().happen(lost)
    assertEquals(plain.life.stage, Stage.Closing)
