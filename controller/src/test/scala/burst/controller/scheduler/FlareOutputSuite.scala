package burst.controller.scheduler

import burst.controller.blob.BlobName
import burst.controller.flare.{FlareState, Output}
import burst.protocol.{FailureKind, FlareId, PackEvent}

/** What workers return, in pieces and too much of it. */
class FlareOutputSuite extends SchedulerFixture:
  private def kept(id: FlareId, worker: Int): String =
    Samples.blobs.load(id, BlobName.output(worker)).utf8String

  test("an output in pieces is put together, kept beside the store, and the pack told to send more"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    a.report(
      pack,
      PackEvent.Ready(None, 0),
      PackEvent.Output(0, "\"" + "x" * 5000),
      PackEvent.Output(1, "[1")
    )
    assertEquals((a.outputStored().flareId, pack.assignment.pack), (flare.id, 0))
    a.report(pack, PackEvent.Output(0, "yé"), PackEvent.WorkerSucceeded(0, "z\"", 1))
    a.report(pack, PackEvent.WorkerSucceeded(1, ",2]", 1), PackEvent.PackEnded(true, None, 3))
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(
      world.store.results(flare.id, 0, 2).map(_.output),
      Vector(Some(Output.OutOfLine(5000 + 6)), Some(Output.OutOfLine(5)))
    )
    assertEquals((kept(flare.id, 0), kept(flare.id, 1)), ("\"" + "x" * 5000 + "yéz\"", "[1,2]"))

  test("pieces of an attempt that failed are in no output of the next"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2, retries = 1))
    val end = world.await(flare.id)
    val first = a.prepared()
    a.report(first, PackEvent.Ready(None, 0), PackEvent.Output(0, "\"old"), PackEvent.Output(1, "\"older"))
    a.fail(first, 1, FailureKind.Error)
    a.aborted()
    a.end(first)
    val second = a.prepared()
    a.report(
      second,
      PackEvent.Ready(None, 0),
      PackEvent.Output(0, "\"n"),
      PackEvent.WorkerSucceeded(0, "ew\"", 1)
    )
    a.report(second, PackEvent.WorkerSucceeded(1, "1", 1), PackEvent.PackEnded(true, None, 3))
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(kept(flare.id, 0), "\"new\"")
    assertEquals(world.outputs(flare.id), Vector((0, None), (1, Some("1"))))

  test("outputs that are too large together fail the flare, and nobody waits"):
    val world = World(settings = Samples.settings.copy(outputLimit = 8000))
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    a.report(pack, PackEvent.Ready(None, 0), PackEvent.Output(0, "x" * 5000))
    a.outputStored()
    a.report(pack, PackEvent.Output(1, "x" * 5000))
    assert(a.aborted().failure.message.contains("8000 bytes"))
    a.outputStored()
    a.end(pack)
    val error = world.ended(end).error.get
    assertEquals((error.kind, error.worker), (FailureKind.Error, Some(1)))
