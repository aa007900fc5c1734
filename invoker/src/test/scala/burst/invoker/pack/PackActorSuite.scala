package burst.invoker.pack

import burst.invoker.driver.PackageSource
import burst.invoker.packages.PackageCache
import burst.node.MonotonicTime
import burst.protocol.*
import burst.protocol.MessageCodecs.given
import com.github.plokhotnyuk.jsoniter_scala.core.writeToString
import io.circe.Json
import io.circe.syntax.*
import java.nio.file.Files
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import scala.concurrent.Await
import scala.concurrent.duration.{Duration, DurationInt}

/** A pack's life when it succeeds, and what is passed on. Its failures are in `PackFailureSuite`. */
class PackActorSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val setup = FunFixture[PackSetup](_ => PackSetup(kit), _.runtime.close())

  setup.test("a cold pack gets package, container and program, passes events on, and stays warm"): setup =>
    import setup.*
    val (_, pack) = running()
    assertEquals(runtime.started(), "/package")
    assertEquals(runtime.startTimeout(), 8000L)
    val started = PackEvent.WorkerStarted(2, Timestamp.ofMicros(3))
    pack.send(ready)
    val first = controller.receiveMessage()
    assertEquals((first.start, first.events), (Some(PackStart.Cold), Vector(ready)))
    pack.send(started, PackEvent.WorkerSucceeded(2, "true", Timestamp.ofMicros(4)))
    assertEquals(
      controller.receiveMessage().events,
      Vector(started, PackEvent.WorkerSucceeded(2, "true", Timestamp.ofMicros(4)))
    )
    pack.send(setup.ended(reusable = true))
    controller.expectNoMessage(scala.concurrent.duration.DurationInt(20).millis)
    pack.end()
    val (_, end) = untilEnded()
    assertEquals((end.reusable, end.error), (true, None))
    val returned = invoker.receiveMessage().pack.getOrElse(fail("the pack was not kept"))
    assertEquals((returned.shape.workers, returned.packagePath), (3, directory))
    assertEquals(driver.stops, Vector.empty)
    assertEquals(driver.started.size, 1)
    expectHeld()

  setup.test("a package that is not in the container is sent once, before the pack"): setup =>
    import setup.*
    val archive = Files.writeString(Files.createTempFile("package", ".zip"), "package")
    driver.source = PackageSource.Sent(archive)
    val (_, pack) = running()
    assertEquals(runtime.started(), "package")
    assertEquals(runtime.startTimeout(), 8000L)
    assertEquals(runtime.startedPrograms, 0)
    pack.send(ready, setup.ended(reusable = true))
    pack.end()
    assert(untilEnded()(1).reusable)

  for sent <- Seq(false, true) do
    setup.test(s"variables are set before a program starts, and not for a warm one (sent: $sent)"): setup =>
      import setup.*
      if sent then
        driver.source =
          PackageSource.Sent(Files.writeString(Files.createTempFile("package", ".zip"), "package"))
      val secret = assignment.copy(environment = Environment(Map("TOKEN" -> "hunter2")))
      assert(!secret.toString.contains("hunter2"))
      begin(secret)
      givePackage()
      assertEquals(runtime.environmentSet(), secret.environment)
      val pack = runtime.pack()
      pack.send(ready, setup.ended(reusable = true))
      pack.end()
      untilEnded()
      val returned = invoker.receiveMessage().pack.getOrElse(fail("the pack was not kept"))
      assertEquals(returned.shape.environment, secret.environment)
      begin(secret, Supply.Warm(returned))
      runtime.pack()
      assertEquals(runtime.environmentsSet, 0)

  setup.test("the runtime receives the kind and function of a program, and the variables of a run"): setup =>
    import setup.*
    val python = assignment.definition.copy(kind = "python:3.11", main = Some("niam"))
    val invocation = Environment(Map("activation_id" -> "a1"))
    begin(assignment.copy(definition = python, invocation = invocation))
    givePackage()
    assertEquals(runtime.program(), (Some("python:3.11"), Some("niam")))
    assertEquals(runtime.pack().request.invocation, invocation)
    begin(assignment)
    givePackage()
    assertEquals(runtime.program(), (None, None))
    runtime.pack()

  setup.test("a group's program has the group's variables"): setup =>
    import setup.*
    val variables = Environment(Map("TOKEN" -> "hunter2"))
    begin(assignment.copy(group = Some(GroupRole.Holder(1.second)), environment = variables))
    givePackage()
    assertEquals(runtime.environmentSet(), variables)
    runtime.started()

  setup.test("the runtime receives everything about the pack, and the host that it is reached at"): setup =>
    import setup.*
    val (_, pack) = running()
    val expected = RunPack(
      assignment.flareId,
      PackId(1),
      Vector(2, 3),
      assignment.inputs,
      assignment.backend,
      assignment.secret,
      "127.0.0.1",
      pack.request.deadline,
      group = None,
      autostart = false,
      lease = None,
      memory = driver.programMemory(3, assignment.memory),
      invocation = assignment.invocation
    )
    val remaining = pack.request.deadline - services.clock()
    assert(remaining > Duration.Zero && remaining <= assignment.timeLeft, "by the clock of this machine")
    assertEquals(pack.request, expected)

  setup.test("the runtime receives a worker's log limit"): setup =>
    import setup.*
    def of(logs: Int, packSizes: Int*) =
      assignment.copy(
        definition = definition.copy(logs = logs),
        pack = PackId(0),
        packSizes = packSizes.toVector
      )
    begin(of(10, 1))
    givePackage()
    assertEquals(runtime.pack().request.logLimit, Some(10L << 20))
    val limits = Vector(of(0, 1), of(1, 1), of(0, 2), of(10, 2), of(10, 1, 1)).map(FlareRun.logLimit)
    assertEquals(limits, Vector(Some(0L), None, Some(0L), None, None))
    val single = of(10, 1)
    val concurrent = single.definition.copy(concurrency = 2)
    assertEquals(FlareRun.logLimit(single.copy(definition = concurrent)), None)

  setup.test("the runtime receives the pack's lease, and its extension"): setup =>
    import setup.*
    val until = MonotonicTime.now() + 1.hour
    val actor = begin(assignment, lease = Some(until))
    givePackage()
    val pack = runtime.pack()
    assert(pack.request.lease.exists(lease => lease > Duration.Zero && lease <= 1.hour), pack.request.lease)
    pack.send(ready)
    controller.receiveMessage()
    actor ! PackActor.RenewLease(until + 1.hour)
    val (order, body) = runtime.order()
    assertEquals(order, "lease")
    assert(body.hcursor.get[Long]("millis").exists(_ > 1.hour.toMillis), body)

  setup.test("outputs are passed on one report at a time, each once the previous one is stored"): setup =>
    import setup.*
    val (actor, pack) = running()
    val pieces = Vector.tabulate(3)(i => PackEvent.Output(2, i.toString * 9000))
    pack.send(ready)
    controller.receiveMessage()
    pieces.foreach: piece =>
      pack.send(piece)
      // so that they arrive one by one
      pack.send(PackEvent.Phase(2, "p", Timestamp.ofMicros(1)))
    def outputs(report: PackReport) = report.events.collect { case piece: PackEvent.Output => piece }
    var seen = outputs(controller.receiveMessage())
    while seen.isEmpty do seen = outputs(controller.receiveMessage())
    // All may arrive together: then nobody else gets the memory until the end.
    val other = Option.when(seen.length == 3)(services.outputs.acquire(1L << 20))
    assert(other.forall(_.value.isEmpty), "the outputs are not accounted for")
    while seen.length < 3 do
      actor ! PackActor.OutputStored(assignment.flareId)
      seen ++= outputs(controller.receiveMessage())
    assertEquals(seen, pieces)
    pack.send(PackEvent.WorkerSucceeded(2, "", Timestamp.ofMicros(4)), setup.ended(reusable = true))
    pack.end()
    untilEnded()
    other.foreach(Await.result(_, 60.seconds).close())
    assertEquals(
      services.outputs.acquire(1L << 20).value.map(_.isSuccess),
      Some(true),
      "memory is held forever"
    )

  setup.test("the start carries the endpoints of all packs, and null for a missing one"): setup =>
    import setup.*
    val (actor, pack) = running()
    pack.send(ready)
    controller.receiveMessage()
    actor ! PackActor.Start(assignment.flareId, Vector(Some("a:1"), None))
    assertEquals(runtime.order(), ("start", Json.obj("endpoints" -> Json.arr("a:1".asJson, Json.Null))))

  setup.test("a warm pack needs neither package nor container nor program"): setup =>
    import setup.*
    val (pack, _) = warm()
    launch(Some(pack))
    val running = runtime.pack()
    running.send(ready, setup.ended(reusable = true))
    running.end()
    val (reports, _) = untilEnded()
    assertEquals(reports.head.start, Some(PackStart.Warm))
    assertEquals(invoker.receiveMessage().pack, Some(pack))
    assertEquals((driver.started.size, driver.resized.size, runtime.startedPrograms), (0, 0, 0))
    expectHeld()

  setup.test("a warm pack of another size is resized, and goes back with its new size"): setup =>
    import setup.*
    val (pack, _) = warm(workers = 8)
    launch(Some(pack))
    val running = runtime.pack()
    running.send(setup.ended(reusable = true))
    running.end()
    untilEnded()
    assertEquals(driver.resized.toArray.toVector, Vector[AnyRef](3.asInstanceOf[AnyRef]))
    assertEquals(invoker.receiveMessage().pack.map(_.shape.workers), Some(3))

  setup.test("a pack that is not reusable ends only after its container was removed"): setup =>
    import setup.*
    val outcome = scala.concurrent.Promise[burst.invoker.driver.StopOutcome]()
    driver.beforeStop = outcome.future
    val (_, pack) = running()
    val failure = Failure(FailureKind.Panic, "boom", worker = Some(4))
    pack.send(
      ready,
      PackEvent.WorkerFailed(4, failure, Timestamp.ofMicros(5)),
      setup.ended(reusable = false, Some(failure))
    )
    val first = controller.receiveMessage()
    val named = failure.at(InvokerId("i7"), PackId(1))
    assertEquals(first.events, Vector(ready, PackEvent.WorkerFailed(4, named, Timestamp.ofMicros(5))))
    controller.expectNoMessage(scala.concurrent.duration.DurationInt(100).millis)
    outcome.success(burst.invoker.driver.StopOutcome.Stopped)
    assertEquals(endedBadly(), named)
    expectRelease()

  setup.test("the last events are reported with the pack's end, or without it if the pack is lost"): setup =>
    import setup.*
    val last = Vector(
      PackEvent.WorkerStarted(2, Timestamp.ofMicros(3)),
      PackEvent.WorkerSucceeded(2, "true", Timestamp.ofMicros(4))
    )
    val (_, completed) = running()
    completed.send((ready +: last :+ setup.ended(reusable = true))*)
    controller.expectNoMessage(scala.concurrent.duration.DurationInt(20).millis)
    completed.end()
    val report = controller.receiveMessage()
    assertEquals((report.start, report.events.init), (Some(PackStart.Cold), ready +: last))
    assert(report.events.last.isInstanceOf[PackEvent.PackEnded], report.events)
    invoker.receiveMessage().pack.getOrElse(fail("the pack was not kept")): Unit

    val outcome = scala.concurrent.Promise[burst.invoker.driver.StopOutcome]()
    driver.beforeStop = outcome.future
    val (_, lost) = running()
    lost.send((ready +: last :+ setup.ended(reusable = true))*)
    // Confining the container is the last thing that the actor does with these events.
    controller.awaitAssert(assertEquals(driver.confined.size, 2))
    lost.break()
    assertEquals(controller.receiveMessage().events, ready +: last)
    outcome.success(burst.invoker.driver.StopOutcome.Stopped)
    assert(!untilEnded()._2.reusable)

  setup.test("a shared container is reported as up before a call's end, as others may wait to join"): setup =>
    import setup.*
    begin(assignment.copy(shared = Some(SharedContainer(FlareId.random(), 3))))
    givePackage()
    val pack = runtime.pack()
    pack.send(ready, setup.ended(reusable = true))
    assertEquals(controller.receiveMessage().events, Vector(ready))
    pack.end()
    assert(untilEnded()._2.reusable)

  setup.test("events that arrive in pieces are put together"): setup =>
    import setup.*
    val (_, pack) = running()
    val (line, last) =
      (writeToString[PackEvent](ready), writeToString[PackEvent](setup.ended(reusable = true)))
    pack.raw(line.take(10))
    pack.raw(line.drop(10) + "\n" + last.take(5))
    assertEquals(controller.receiveMessage().events, Vector(ready))
    pack.raw(last.drop(5) + "\n")
    pack.end()
    assert(untilEnded()._2.reusable)

  setup.test("the package is requested by its content"): setup =>
    import setup.*
    launch()
    packages.receiveMessage() match
      case PackageCache.Acquire(id, _) => assertEquals(id, definition.packageId)
      case other => fail(s"unexpected: $other")
