package burst.controller.scheduler

import burst.controller.store.{addResults, insert}
import burst.controller.flare.*
import burst.protocol.*
import scala.concurrent.duration.DurationInt

class RecoverySuite extends SchedulerFixture:
  private def flareIn(state: FlareState, size: Int = 2, backend: String = "direct"): Flare =
    val fresh = AdmissionControl.accept(Samples.request(size, backend = backend), Timestamp.ofMicros(5))
    if state == FlareState.Queued then fresh
    else
      fresh.copy(
        state = state,
        packs = Vector(PackRecord(PackId(0), InvokerId("a"), (0 until size).toVector, None)),
        workers = fresh.workers.map(_.copy(pack = Some(PackId(0))))
      )

  private def storeOf(flares: Flare*): MemoryFlareStore =
    val store = MemoryFlareStore()
    flares.foreach(store.insert(_))
    store

  test("a queued flare is queued again and runs once there is room"):
    val flare = flareIn(FlareState.Queued)
    val world = World(storeOf(flare))
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    val pack = a.prepared()
    assertEquals(pack.assignment.inputs, Inputs.Each(Vector(JsonText("0"), JsonText("1"))))
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  for state <- Vector(FlareState.Placing, FlareState.Starting, FlareState.Running) do
    test(s"a flare that was ${state.toString.toLowerCase} is reported as failed and keeps its results"):
      val flare = flareIn(state)
      val store = storeOf(flare)
      store.addResults(flare.id, Vector(WorkerResult(0, Some(Samples.output("true")), None)))
      val world = World(store)
      assertEquals(world.await(flare.id).receiveMessage(), GangScheduler.Awaited.NotActive)
      val ended = store.find(flare.id).get
      assertEquals(
        (ended.state, ended.error.map(_.kind)),
        (FlareState.Failed, Some(FailureKind.ControllerRestarted))
      )
      assertEquals(ended.workers.map(_.state), Vector(WorkerState.Succeeded, WorkerState.Failed))
      assertEquals(world.errors(flare.id), Vector((0, None), (1, Some(FailureKind.ControllerRestarted))))

  test("packs left by such a flare are ended and cleaned once their invoker is back"):
    val flare = flareIn(FlareState.Running, backend = "redis")
    val world = World(storeOf(flare))
    val a = world.invoker("a", 2)
    val abort = a.aborted()
    assertEquals((abort.flareId, abort.pack), (flare.id, PackId(0)))
    val (clean, _) = a.cleaned()
    assertEquals((clean.flareId, clean.backend.kind), (flare.id, "redis-list"))

  test("a store that does not answer is asked again, and requests wait for it"):
    val flare = flareIn(FlareState.Queued)
    val store = storeOf(flare)
    store.fails = _ == "unfinished"
    val world = World(store)
    val a = world.invoker("a", 2)
    val end = world.await(flare.id)
    a.hearsNothing()
    store.fails = _ => false
    time.timePasses(1.second)
    a.succeed(a.prepared())
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a flare whose backend is no longer configured fails and gives its slots back"):
    val flare = flareIn(FlareState.Queued, backend = "gone")
    val world = World(storeOf(flare))
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    assert(world.ended(end).error.exists(_.message.contains("'gone'")))
    a.hearsNothing()
    assertEquals(world.free(), Map("a" -> 2))
