package burst.controller.scheduler

import burst.controller.blob.{BlobName, BlobStoreException, FlareBlobStore}
import burst.controller.flare.{FlareState, Submission}
import burst.controller.store.logTexts
import burst.protocol.{FailureKind, FlareId, Inputs, JsonText, LogStream, PackEvent, Timestamp}
import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, Executors}
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.DurationInt

/** When a flare's data is stored, and what happens to the flare when it cannot be. */
class FlareStoringSuite extends SchedulerFixture:
  import GangScheduler.{Awaited, Submitted}

  test("progress is stored while a flare runs"):
    val world = World()
    val a = world.invoker("a", 3)
    val flare = world.submit(Samples.request(3))
    val pack = a.prepared()
    a.report(
      pack,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)),
      PackEvent.Phase(0, "read", Timestamp.ofMicros(1)),
      PackEvent.Log(Some(0), LogStream.Stdout, "hello", Timestamp.ofMicros(1))
    )
    world.Steps(a, pack).settle()
    world.pass(100.millis)
    val probe = kit.createTestProbe[Unit]()
    probe.awaitAssert(assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Running)))
    assertEquals(world.store.logTexts(flare.id).map(_.text), Vector("hello"))
    assertEquals(world.store.phases(flare.id).map(_.name), Vector("read"))

  test("a flare that the store cannot take is refused, and its slots come back"):
    val world = World()
    val a = world.invoker("a", 2)
    world.store.fails = _ == "insert"
    world.submitted(Samples.request(2)) match
      case Submitted.NotStored(operation, _) => assertEquals(operation, "insert")
      case other => fail(s"$other")
    a.hearsNothing()
    world.eventuallyFree("a" -> 2)
    world.store.fails = _ => false
    world.submit(Samples.request(2))
    a.prepared()

  test("a flare whose package was removed is refused, and its slots come back"):
    val world = World()
    val a = world.invoker("a", 2)
    world.store.withoutPackage = true
    assertEquals(world.submitted(Samples.request(2)), Submitted.Refused(Refusal.PackageGone))
    a.hearsNothing()
    world.eventuallyFree("a" -> 2)

  test("a flare whose key was used by an earlier request is refused, and its slots come back"):
    val world = World()
    val a = world.invoker("a", 4)
    val request = Samples.request(2).copy(submission = Some(Submission("key", "digest")))
    val first = world.submit(request)
    val pack = a.prepared()
    assertEquals(world.submitted(request), Submitted.Refused(Refusal.AlreadySubmitted))
    a.hearsNothing()
    world.eventuallyFree("a" -> 2)
    assertEquals(world.store.submitted("guest", "key").map(_.id), Some(first.id))
    a.succeed(pack)
    world.eventuallyFree("a" -> 4)
    // A flare that waits is refused, too.
    world.submit(Samples.request(4))
    assertEquals(world.submitted(request), Submitted.Refused(Refusal.AlreadySubmitted))

  test("a store that fails later fails the flare, which never hangs"):
    val world = World()
    val a = world.invoker("a", 8)
    val flare = world.submit(Samples.request(8))
    val end = world.await(flare.id)
    val pack = a.prepared()
    val steps = world.Steps(a, pack)
    world.store.fails = _ => true
    a.report(
      pack,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.WorkerSucceeded(0, "null", Timestamp.ofMicros(1))
    )
    steps.settle()
    world.pass(100.millis)
    // each pause is twice as long as the one before
    for pause <- Vector(200.millis, 400.millis) do
      steps.settle()
      a.hearsNothing()
      world.pass(pause)
    assertEquals(a.aborted().failure.kind, FailureKind.Internal)
    a.end(pack)
    val announced = kit.createTestProbe[Any]().awaitAssert {
      world.pass(400.millis)
      end.receiveMessage(50.millis)
    }
    announced match
      case Awaited.Ended(ended, _) => assertEquals(ended.state, FlareState.Failed)
      case other => fail(s"$other")
    world.eventuallyFree("a" -> 8)
    // However long it takes, the record is updated to the state that was announced.
    for _ <- 1 to 3 do world.pass(5.seconds)
    assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Starting))
    world.store.fails = _ => false
    kit.createTestProbe[Any]().awaitAssert {
      world.pass(5.seconds)
      assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Failed))
    }
    assertEquals(world.outputs(flare.id).length, 8)

  test("a brief failure of the store has no consequences"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    world.store.fails = _ == "update"
    a.succeed(pack)
    // its slots come back when it closes, and only then is its end stored
    world.eventuallyFree("a" -> 2)
    a.hearsNothing()
    world.store.fails = _ => false
    val announced = kit.createTestProbe[Any]().awaitAssert {
      world.pass(200.millis)
      end.receiveMessage(50.millis)
    }
    val stored = world.store.find(flare.id).get
    val results = world.store.results(flare.id, 0, 2)
    assertEquals(announced, Awaited.Ended(stored.copy(request = stored.request.withoutInputs), results))
    assertEquals(stored.state, FlareState.Succeeded)
    assertEquals(world.outputs(flare.id).length, 2, "results were stored once")

  test("a flare that another controller has taken over is dropped: its packs end, its end is not announced"):
    val world = World()
    val a = world.invoker("a", 3)
    val flare = world.submit(Samples.request(3))
    val end = world.await(flare.id)
    val pack = a.prepared()
    world.store.taken = true
    a.report(
      pack,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.WorkerSucceeded(0, "null", Timestamp.ofMicros(1))
    )
    world.Steps(a, pack).settle()
    world.pass(100.millis)
    assertEquals(a.aborted().failure.kind, FailureKind.Internal)
    a.end(pack)
    assertEquals(end.receiveMessage(), Awaited.NotActive)
    world.eventuallyFree("a" -> 3)
    assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Starting))

  /** A disk without room for large blobs. */
  private object full extends FlareBlobStore:
    export Samples.blobs.{close as _, put as _, read as _, *}
    def put(id: FlareId, name: BlobName, file: Path): Unit =
      throw BlobStoreException("storing a blob", IOException("No space left on device"))

  test("a part of the log that cannot be stored is left out and noted there, and the flare does not fail"):
    val settings = Samples.settings.copy(logBuffer = 1 << 20)
    val world = World(settings = settings, spool = Spool.open(Files.createTempDirectory("burst-spool"), full))
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    a.report(
      pack,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)),
      PackEvent.Log(Some(0), LogStream.Stdout, "x" * 70_000, Timestamp.ofMicros(1))
    )
    world.Steps(a, pack).settle()
    kit.createTestProbe[Unit]().awaitAssert:
      world.pass(200.millis)
      assert(world.store.logTexts(flare.id).exists(_.text.contains("1 lines were left out")))
    a.hearsNothing()
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  /** A bucket that does not answer until the latch opens. */
  private object slow extends FlareBlobStore:
    val answers = CountDownLatch(1)
    export Samples.blobs.{close as _, put as _, read as _, *}
    def put(id: FlareId, name: BlobName, file: Path): Unit =
      answers.await()
      Samples.blobs.put(id, name, file)

  test("a bucket that does not answer does not delay small flares"):
    val threads = Executors.newFixedThreadPool(8)
    val pool = ExecutionContext.fromExecutor(threads)
    val database = Executors.newFixedThreadPool(2)
    val world = World(
      spool = Spool.open(Files.createTempDirectory("burst-spool"), slow),
      blocking = ExecutionContext.fromExecutor(database),
      transfers = pool
    )
    val a = world.invoker("a", 8)
    val large = Samples.request(1, "large").copy(inputs = Inputs.Shared(JsonText(s"\"${"x" * 70_000}\"")))
    val waiting = Vector.fill(6)(world.ask[Submitted](GangScheduler.Submit(large, 100, _)))
    try
      val end = world.await(world.submit(Samples.request(1)).id)
      a.succeed(a.prepared())
      assertEquals(world.ended(end).state, FlareState.Succeeded)
      waiting.foreach(_.expectNoMessage(1.milli))
      slow.answers.countDown()
      waiting.foreach(probe => assert(probe.receiveMessage().isInstanceOf[Submitted.Accepted]))
    finally
      slow.answers.countDown()
      threads.shutdown()
      database.shutdown()
