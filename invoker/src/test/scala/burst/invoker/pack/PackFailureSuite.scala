package burst.invoker.pack

import burst.invoker.driver.{ContainerExit, RuntimeAddress, StopOutcome}
import burst.invoker.packages.PackageCache
import burst.protocol.*
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.http.scaladsl.model.{HttpResponse, StatusCodes}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Future, Promise}

/** Every way a pack can fail: exactly one end is reported, with its reason, and nothing is left behind. */
class PackFailureSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val setup = FunFixture[PackSetup](_ => PackSetup(kit), _.runtime.close())
  private val shortTimings =
    PackTimings(
      init = 1.second,
      abort = 100.millis,
      deadlineSlack = 50.millis,
      settle = 50.millis,
      slotReturn = None
    )
  private val shortSetup =
    FunFixture[PackSetup](_ => PackSetup(kit, timings = shortTimings), _.runtime.close())

  /** A setup in which a running pack has little time left. */
  private def withTimeLeft(timeLeft: FiniteDuration) =
    FunFixture[PackSetup](
      _ => PackSetup(kit, timeLeft, shortTimings.copy(init = 10.seconds)),
      _.runtime.close()
    )

  /** For tests in which the awaited event occurs, however late. */
  private val settling = FunFixture[PackSetup](
    _ => PackSetup(kit, timings = shortTimings.copy(init = 10.seconds, settle = 10.seconds)),
    _.runtime.close()
  )
  private val cancelled = Failure(FailureKind.Cancelled, "as the user wished")

  setup.test("the package is not available"): setup =>
    import setup.*
    launch()
    val missing = Failure(FailureKind.StartFailed, "no package")
    packages.receiveMessage() match
      case PackageCache.Acquire(_, replyTo) => replyTo ! Left(missing)
      case other => fail(s"unexpected: $other")
    assertEquals(endedBadly().message, "no package")
    assertEquals(driver.started.size, 0)
    expectHeld()

  setup.test("the container does not start"): setup =>
    import setup.*
    driver.beforeStart = Future.successful(Some(Failure(FailureKind.StartFailed, "no room")))
    launch()
    givePackage()
    val failure = endedBadly()
    assertEquals(failure.message, "no room")
    assertEquals(failure.operation, Some(Operation.Create))
    expectRelease()

  setup.test("the program does not start"): setup =>
    import setup.*
    val answer = HttpResponse(StatusCodes.BadGateway, entity = """{"error":"exec format error"}""")
    runtime.initAnswer = Future.successful(answer)
    launch()
    givePackage()
    val failure = endedBadly()
    assertEquals(failure.kind, FailureKind.StartFailed)
    assert(failure.message.contains("exec format error"), failure.message)
    assertEquals(failure.operation, Some(Operation.Init))
    assertEquals(driver.stops.size, 1)
    expectRelease()

  setup.test("output of a program that did not start is in the log"): setup =>
    import setup.*
    val line = """{"event":"log","worker":null,"stream":"stderr","text":"no FILE given","at":1}"""
    // Other events from its runtime are not believed.
    val forged =
      """{"event":"worker-started","worker":0,"at":1},{"event":"pack-ended","reusable":true,"error":null,"at":1}"""
    val log = s"[$line,$forged]"
    val answer = HttpResponse(StatusCodes.BadGateway, entity = s"""{"error":"exit code 3","log":$log}""")
    runtime.initAnswer = Future.successful(answer)
    launch()
    givePackage()
    val (reports, end) = untilEnded()
    val expected = PackEvent.Log(None, LogStream.Stderr, "no FILE given", Timestamp.ofMicros(1))
    assertEquals(reports.flatMap(_.events).filterNot(_ == end), Vector(expected))
    assert(end.error.exists(_.message.contains("exit code 3")), end)
    expectRelease()
    begin(assignment.copy(definition = definition.copy(logs = 0)))
    givePackage()
    val silent = untilEnded()(0).flatMap(_.events)
    assert(!silent.exists(_.isInstanceOf[PackEvent.Log]), silent)

  shortSetup.test("the program never reports"): setup =>
    import setup.*
    runtime.initAnswer = Promise[HttpResponse]().future
    launch()
    givePackage()
    assert(endedBadly().message.contains("SDK"))
    assertEquals(driver.stops.size, 1)
    expectRelease()

  shortSetup.test("the runtime of a warm pack never answers"): setup =>
    import setup.*
    runtime.silent = true
    val (pack, _) = warm()
    launch(Some(pack))
    val failure = endedBadly()
    assertEquals(failure.kind, FailureKind.PackLost)
    assert(failure.message.contains("did not answer"), failure.message)
    assertEquals(driver.stops.size, 1)
    expectRelease()

  shortSetup.test("a container that replaces a dead warm pack has its own time to come up"): setup =>
    import setup.*
    val created = Promise[Option[Failure]]()
    driver.beforeStart = created.future
    runtime.silent = true
    val (pack, container) = warm()
    container.ended.success(ContainerExit(Some(1), oomKilled = false))
    launch(Some(pack))
    expectRelease()
    givePackage()
    runtime.silent = false
    controller.expectNoMessage(services.timings.init * 3)
    created.success(None)
    // The pack was not given up: its program is requested.
    val requested = runtime.pack().request.flareId
    assertEquals(requested, assignment.flareId)

  setup.test("the container dies before the program reports, for lack of memory"): setup =>
    import setup.*
    runtime.initAnswer = Promise[HttpResponse]().future
    launch()
    givePackage()
    runtime.started()
    driver.lastContainer.ended.success(ContainerExit(Some(137), oomKilled = true))
    assertEquals(endedBadly().kind, FailureKind.OutOfMemory)
    expectRelease()

  for exits <- List(true, false) do
    val suffix =
      if exits then "and its container's end is heard of" else "and nothing is heard of its container"
    setup.test(s"the runtime dies before the program is up, $suffix: not the program's fault"): setup =>
      import setup.*
      val dying = DyingRuntime()
      driver.address = dying.address
      launch()
      givePackage()
      if exits then driver.lastContainer.ended.success(ContainerExit(Some(137), oomKilled = false))
      val failure = endedBadly()
      assertEquals((failure.kind, failure.operation), (FailureKind.PackLost, Some(Operation.Init)))
      expectRelease()

  /** A call of an action, on a warm pack at this address. */
  private def call(setup: PackSetup, at: RuntimeAddress): FakeContainer =
    import setup.*
    driver.address = at
    val (pack, container) = warm(workers = 1)
    driver.address = runtime.address
    val invocation = Environment(Map("activation_id" -> "a1"))
    val alone = assignment.copy(packSizes = Vector(2, 1), autostart = true, invocation = invocation)
    begin(alone, Supply.Warm(pack))
    container

  setup.test("a call that a dying container may have begun is not begun in another"): setup =>
    import setup.*
    call(setup, DyingRuntime().address)
    val (reports, end) = untilEnded()
    assertEquals(end.error.map(_.kind), Some(FailureKind.PackLost))
    assertEquals(reports.flatMap(_.begins), Vector(true))
    assertEquals(driver.started.size, 0)
    expectRelease()

  setup.test("a call is begun in another container if its own was dead before it was asked"): setup =>
    import setup.*
    val dead = DyingRuntime()
    dead.close()
    call(setup, dead.address)
    expectRelease()
    givePackage()
    val pack = runtime.pack()
    pack.send(ready, setup.ended(reusable = true))
    pack.end()
    assertEquals(untilEnded()._1.flatMap(_.begins), Vector(true, false, true))

  shortSetup.test("a call ends with its container if nothing more is heard of it"): setup =>
    import setup.*
    runtime.silent = true
    val container = call(setup, runtime.address)
    container.ended.success(ContainerExit(Some(137), oomKilled = false))
    assertEquals(endedBadly().kind, FailureKind.PackLost)
    expectRelease()

  setup.test("a program cannot blame the machine in the invoker's name"): setup =>
    import setup.*
    val (_, pack) = running()
    val error = Failure(FailureKind.StartFailed, "blame it", operation = Some(Operation.Create))
    pack.send(
      PackEvent.WorkerFailed(2, error, Timestamp.ofMicros(1)),
      PackEvent.PackEnded(false, Some(error), Timestamp.ofMicros(1))
    )
    val (reports, end) = untilEnded()
    val failed = reports.flatMap(_.events).collect { case failed: PackEvent.WorkerFailed => failed.error }
    assertEquals((failed ++ end.error).map(_.operation), Vector(None, None))

  setup.test("the runtime refuses the pack"): setup =>
    import setup.*
    runtime.refusePacks = Some(HttpResponse(StatusCodes.Conflict, entity = """{"error":"one at a time"}"""))
    launch()
    givePackage()
    assert(endedBadly().message.contains("one at a time"))
    assertEquals(driver.stops.size, 1)
    expectRelease()

  for (name, break) <- List[(String, FakePack => Unit)](
      "ends too early" -> (_.end()),
      "breaks" -> (_.break()),
      "brings what is no event" -> (_.raw("{\"event\":\"party\"}\n")),
      "brings a line without an end" -> (_.raw("x" * 20_000))
    )
  do
    setup.test(s"the pack is lost if the stream of events $name"): setup =>
      import setup.*
      val (_, pack) = running()
      pack.send(ready)
      controller.receiveMessage()
      break(pack)
      assertEquals(endedBadly().kind, FailureKind.PackLost)
      assertEquals(driver.stops.size, 1)
      expectRelease()

  settling.test("the container dies while workers run: earlier events are passed on"): setup =>
    import setup.*
    val (_, pack) = running()
    pack.send(ready)
    controller.receiveMessage()
    driver.lastContainer.ended.success(ContainerExit(Some(139), oomKilled = false))
    val last = PackEvent.WorkerStarted(2, Timestamp.ofMicros(5))
    pack.send(last)
    pack.end()
    val (reports, end) = untilEnded()
    assertEquals(reports.head.events, Vector(last))
    val error = end.error.getOrElse(fail("no reason"))
    assertEquals(error.kind, FailureKind.PackLost)
    assert(error.message.contains("139"), error.message)

  settling.test("the container is killed for lack of memory while workers run"): setup =>
    import setup.*
    val (_, pack) = running()
    pack.send(ready)
    controller.receiveMessage()
    pack.break()
    driver.lastContainer.ended.success(ContainerExit(Some(137), oomKilled = true))
    val failure = endedBadly()
    assertEquals(failure.kind, FailureKind.OutOfMemory)
    assert(failure.message.contains("384 MiB"), failure.message)

  private val busy = FunFixture[PackSetup](
    _ => PackSetup(kit, timings = shortTimings.copy(settle = 1.second)),
    _.runtime.close()
  )

  busy.test("a busy machine takes longer to report how a container ended"): setup =>
    import setup.*
    val (_, pack) = running()
    pack.send(ready)
    controller.receiveMessage()
    pack.break()
    kit.scheduler.scheduleOnce(
      1500.millis,
      () => driver.lastContainer.ended.success(ContainerExit(Some(137), oomKilled = true))
    )(using kit.system.executionContext)
    assertEquals(endedBadly().kind, FailureKind.OutOfMemory)

  setup.test("a warm pack whose runtime is dead is replaced by a cold one"): setup =>
    import setup.*
    val (pack, _) = warm()
    runtime.refusePacks = Some(HttpResponse(StatusCodes.InternalServerError))
    launch(Some(pack))
    expectRelease()
    runtime.refusePacks = None
    givePackage()
    val cold = runtime.pack()
    cold.send(ready, setup.ended(reusable = true))
    cold.end()
    assertEquals(untilEnded()._1.head.start, Some(PackStart.Cold))
    assertEquals(driver.stops, Vector(pack.container.id))

  setup.test("a warm pack that cannot be resized is replaced by a cold one"): setup =>
    import setup.*
    driver.resizable = false
    val (pack, _) = warm(workers = 5)
    launch(Some(pack))
    expectRelease()
    givePackage()
    runtime.pack()
    assertEquals(driver.stops, Vector(pack.container.id))

  setup.test("an abort while the package is fetched ends the pack immediately, and the package is returned"):
    setup =>
      import setup.*
      val actor = launch()
      val acquire = packages.receiveMessage().asInstanceOf[PackageCache.Acquire]
      actor ! PackActor.Abort(assignment.flareId, cancelled, atOnce = false)
      assertEquals(endedBadly().kind, FailureKind.Cancelled)
      acquire.replyTo ! Right(directory)
      expectRelease()

  setup.test("an abort while the container starts waits for it and removes it"): setup =>
    import setup.*
    val start = Promise[Option[Failure]]()
    driver.beforeStart = start.future
    val actor = launch()
    givePackage()
    actor ! PackActor.Abort(assignment.flareId, cancelled, atOnce = false)
    controller.expectNoMessage(50.millis)
    start.success(None)
    assertEquals(endedBadly().kind, FailureKind.Cancelled)
    assertEquals(driver.stops.size, 1)
    expectRelease()

  setup.test("an abort while the program starts removes the container"): setup =>
    import setup.*
    runtime.initAnswer = Promise[HttpResponse]().future
    val actor = launch()
    givePackage()
    runtime.started()
    actor ! PackActor.Abort(assignment.flareId, cancelled, atOnce = false)
    assertEquals(endedBadly().kind, FailureKind.Cancelled)
    assertEquals(driver.stops.size, 1)

  setup.test("an abort of a running pack is passed on, and the pack is not kept even if it succeeded"):
    setup =>
      import setup.*
      val (actor, pack) = running()
      pack.send(ready)
      controller.receiveMessage()
      actor ! PackActor.Abort(assignment.flareId, cancelled, atOnce = false)
      assertEquals(runtime.order(), ("abort", io.circe.Encoder[Failure].apply(cancelled)))
      pack.send(setup.ended(reusable = true, Some(cancelled)))
      assertEquals(endedBadly().kind, FailureKind.Cancelled)
      assertEquals(driver.stops.size, 1)

  withTimeLeft(1.hour).test("a runtime that does not obey an abort loses its container"): setup =>
    import setup.*
    val (actor, _) = running()
    actor ! PackActor.Abort(assignment.flareId, cancelled, atOnce = false)
    assertEquals(endedBadly().kind, FailureKind.Cancelled)
    assertEquals(driver.stops.size, 1)

  setup.test("an invoker that stops ends its packs without delay"): setup =>
    import setup.*
    val (actor, pack) = running()
    pack.send(ready)
    controller.receiveMessage()
    actor ! PackActor.Abort(assignment.flareId, Failure(FailureKind.InvokerLost, "stopping"), atOnce = true)
    assertEquals(endedBadly().kind, FailureKind.InvokerLost)
    assertEquals(driver.stops.size, 1)

  withTimeLeft(
    20.seconds
  ).test("when the deadline has passed without an abort, the pack aborts by itself"): setup =>
    import setup.*
    val (_, pack) = running()
    pack.send(ready)
    controller.receiveMessage()
    assertEquals(runtime.order()._1, "abort")
    assertEquals(endedBadly().kind, FailureKind.Timeout)

  setup.test(
    "a container that does not stop is reported like any other end, and its package held until it has"
  ): setup =>
    import setup.*
    val stopped = Promise[Unit]()
    driver.beforeStop = Future.successful(StopOutcome.NotStopped("the daemon hangs", stopped.future))
    val (_, pack) = running()
    pack.send(ready)
    controller.receiveMessage()
    pack.break()
    assertEquals(endedBadly().kind, FailureKind.PackLost)
    expectHeld()
    stopped.success(())
    expectRelease()
