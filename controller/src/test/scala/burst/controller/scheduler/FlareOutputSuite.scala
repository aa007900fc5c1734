package burst.controller.scheduler

import burst.controller.blob.BlobName
import burst.controller.flare.{Flare, FlareState, Output, WorkerState}
import burst.protocol.{FailureKind, FlareId, PackEvent, PackId, Timestamp}
import java.nio.file.{Files, Path}
import scala.concurrent.duration.DurationInt

/** Outputs that arrive in pieces, or are too large. */
class FlareOutputSuite extends SchedulerFixture:
  private def kept(id: FlareId, worker: Int): String =
    Samples.blobs.load(id, BlobName.output(worker)).utf8String

  test("an output in pieces is assembled and kept beside the store, and the pack is asked for more"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    a.report(
      pack,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.Output(0, "\"" + "x" * 5000),
      PackEvent.Output(1, "[1")
    )
    assertEquals((a.outputStored().flareId, pack.assignment.pack), (flare.id, PackId(0)))
    a.report(pack, PackEvent.Output(0, "yé"), PackEvent.WorkerSucceeded(0, "z\"", Timestamp.ofMicros(1)))
    a.report(
      pack,
      PackEvent.WorkerSucceeded(1, ",2]", Timestamp.ofMicros(1)),
      PackEvent.PackEnded(true, None, Timestamp.ofMicros(3))
    )
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(
      world.store.results(flare.id, 0, 2).map(_.output),
      Vector(Some(Output.OutOfLine(5000 + 6)), Some(Output.OutOfLine(5)))
    )
    assertEquals((kept(flare.id, 0), kept(flare.id, 1)), ("\"" + "x" * 5000 + "yéz\"", "[1,2]"))

  test("pieces of a failed attempt are in no output of the next one"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2, retries = 1))
    val end = world.await(flare.id)
    val first = a.prepared()
    a.report(
      first,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.Output(0, "\"old"),
      PackEvent.Output(1, "\"older")
    )
    a.fail(first, 1, FailureKind.Error)
    a.aborted()
    a.end(first)
    val second = a.prepared()
    a.report(
      second,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.Output(0, "\"n"),
      PackEvent.WorkerSucceeded(0, "ew\"", Timestamp.ofMicros(1))
    )
    a.report(
      second,
      PackEvent.WorkerSucceeded(1, "1", Timestamp.ofMicros(1)),
      PackEvent.PackEnded(true, None, Timestamp.ofMicros(3))
    )
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(kept(flare.id, 0), "\"new\"")
    assertEquals(world.outputs(flare.id), Vector((0, None), (1, Some("1"))))

  test("outputs that are too large together fail the flare, and no worker waits"):
    val world = World(settings = Samples.settings.copy(outputLimit = 8000))
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    a.report(pack, PackEvent.Ready(None, Timestamp.Epoch), PackEvent.Output(0, "x" * 5000))
    a.outputStored()
    a.report(pack, PackEvent.Output(1, "x" * 5000))
    assert(a.aborted().failure.message.contains("8000 bytes"))
    a.outputStored()
    a.end(pack)
    val error = world.ended(end).error.get
    assertEquals((error.kind, error.worker), (FailureKind.Error, Some(1)))

  test("results reported in time count even if the database fails across the deadline"):
    for isLate <- Vector(false, true) do
      val world = World(settings = Samples.settings.copy(storeDeadline = 2.minutes))
      val a = world.invoker("a", 3)
      val flare =
        world.submit(Samples.request(3).copy(terms = Samples.request(3).terms.copy(timeout = 20.seconds)))
      val end = world.await(flare.id)
      val pack = a.prepared()
      world.store.fails = _ => true
      // The program can send more although nothing is stored yet: a part, a whole in parts, a short one.
      a.report(pack, PackEvent.Ready(None, Timestamp.Epoch), PackEvent.Output(0, "\"" + "x" * 5000))
      assertEquals(a.outputStored().flareId, flare.id)
      a.report(pack, PackEvent.WorkerSucceeded(0, "\"", Timestamp.ofMicros(1)))
      a.report(pack, PackEvent.WorkerSucceeded(1, "\"" + "y" * 5000 + "\"", Timestamp.ofMicros(1)))
      assertEquals(a.outputStored().flareId, flare.id)
      if !isLate then
        a.report(
          pack,
          PackEvent.WorkerSucceeded(2, "2", Timestamp.ofMicros(1)),
          PackEvent.PackEnded(true, None, Timestamp.ofMicros(3))
        )
        world.eventuallyFree("a" -> 3)
      world.pass(20.seconds)
      if isLate then
        assertEquals(a.aborted().failure.kind, FailureKind.Timeout)
        a.end(pack)
      else a.hearsNothing()
      world.store.fails = _ => false
      val told = kit.createTestProbe[Any]().awaitAssert:
        world.pass(1.second)
        end.receiveMessage(50.millis)
      val ended = told match
        case GangScheduler.Awaited.Ended(flare, _) => flare
        case other => fail(s"$other")
      assertEquals(ended.state, if isLate then FlareState.TimedOut else FlareState.Succeeded)
      assertEquals(kept(flare.id, 0), "\"" + "x" * 5000 + "\"")
      assertEquals(
        world.outputs(flare.id).map(_._2.map(_.length)),
        Vector(None, Some(5002), Option.unless(isLate)(1))
      )

  /** A spool whose disk has no room for the output of a flare's worker 0, after worker 1's `other`. */
  private final class FullSpool(inTime: Boolean, other: String = "1"):
    private val root = Files.createTempDirectory("burst-spool")
    private val settings = Samples.settings.copy(storeDeadline = 2.minutes)
    val world: World = World(settings = settings, spool = Spool.open(root, Samples.blobs))
    private val a = world.invoker("a", 2)
    val flare: Flare = world.submit(Samples.request(2, timeout = 20.seconds))
    private val end = world.await(flare.id)
    private val pack = a.prepared()
    private val full = Files.createDirectory(root.resolve(flare.id.value)).resolve(BlobName.output(0).text)
    Files.createSymbolicLink(full, Path.of("/dev/full"))
    if other.length > 4096 then
      a.report(pack, PackEvent.Ready(None, Timestamp.Epoch), PackEvent.Output(1, other.init))
      a.outputStored()
      a.report(pack, PackEvent.WorkerSucceeded(1, other.takeRight(1), Timestamp.ofMicros(1)))
    else
      a.report(
        pack,
        PackEvent.Ready(None, Timestamp.Epoch),
        PackEvent.WorkerSucceeded(1, other, Timestamp.ofMicros(1))
      )
    private val beginning = PackEvent.Output(0, "\"" + "x" * 5000)
    if inTime then
      a.report(
        pack,
        beginning,
        PackEvent.WorkerSucceeded(0, "\"", Timestamp.ofMicros(1)),
        PackEvent.PackEnded(true, None, Timestamp.ofMicros(3))
      )
    else
      a.report(pack, beginning)
      // Its program must not send more.
      a.hearsNothing()
      world.pass(20.seconds)
      assertEquals(a.aborted().failure.kind, FailureKind.Timeout)
      a.end(pack)
    world.eventuallyFree("a" -> 2)

    def free(): Unit = Files.delete(full)

    def ended(): Flare = kit.createTestProbe[Any]().awaitAssert:
      world.pass(1.second)
      end.receiveMessage(50.millis) match
        case GangScheduler.Awaited.Ended(flare, _) => flare
        case other => fail(s"$other")

  test(
    "a flare that a full disk keeps from ending in time frees its slots, and its record names the disk"
  ):
    val disk = FullSpool(inTime = false)
    val ended = disk.ended()
    val error = ended.error.get
    assertEquals(
      (ended.state, error.kind, error.operation),
      (FlareState.Failed, FailureKind.Internal, Some("store"))
    )
    assert(
      error.message.contains("worker 0 could not be kept, as the controller's disk is full"),
      error.message
    )
    // Although there is still no room.
    assertEquals(disk.world.store.find(ended.id).map(_.error), Some(ended.error))
    assertEquals(disk.world.outputs(ended.id), Vector((0, None), (1, Some("1"))))

  test(
    "outputs of workers that ended in time are kept once the disk has room, even after the time-out"
  ):
    val disk = FullSpool(inTime = true)
    disk.world.pass(30.seconds)
    disk.free()
    assertEquals(disk.ended().state, FlareState.Succeeded)
    assertEquals(kept(disk.flare.id, 0), "\"" + "x" * 5000 + "\"")

  test("a complete output is kept even if another one cannot be"):
    val other = "\"" + "y" * 5000 + "\""
    val disk = FullSpool(inTime = true, other)
    disk.world.pass(2.minutes)
    val ended = disk.ended()
    assertEquals(ended.workers.map(_.state), Vector(WorkerState.Failed, WorkerState.Succeeded))
    kit.createTestProbe[Any]().awaitAssert:
      disk.world.pass(1.second)
      assertEquals(disk.world.store.find(ended.id).map(_.state), Some(FlareState.Failed))
    assertEquals(kept(ended.id, 1), other)

  test("outputs that cannot be kept for too long are given up, and the flare's end is stored without them"):
    val disk = FullSpool(inTime = true)
    disk.world.pass(2.minutes)
    val ended = disk.ended()
    assertEquals(ended.workers.map(_.state), Vector(WorkerState.Failed, WorkerState.Succeeded))
    val stored = kit.createTestProbe[Any]().awaitAssert:
      disk.world.pass(1.second)
      disk.world.store.find(ended.id).filter(_.state == FlareState.Failed).getOrElse(fail("not stored yet"))
    assert(stored.error.exists(_.message.contains("disk is full")), stored.error)
    assertEquals(disk.world.outputs(ended.id), Vector((0, None), (1, Some("1"))))
    assertEquals(disk.world.errors(ended.id), Vector((0, Some(FailureKind.Internal)), (1, None)))
