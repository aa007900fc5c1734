package burst.controller.store

import burst.controller.flare.*
import burst.controller.store.Samples.*
import burst.protocol.*
import io.circe.Json
import io.circe.syntax.*
import java.util.concurrent.{Callable, Executors}
import scala.jdk.CollectionConverters.*
import scala.util.Try

/** What every implementation of [[FlareStore]] must do, opened with limits of 100 bytes of log and 3 marks.
  */
abstract class FlareStoreContract extends StorageFixtures:
  private def together[A](work: Vector[Callable[A]]): Vector[A] =
    val pool = Executors.newFixedThreadPool(8)
    try pool.invokeAll(work.asJava).asScala.toVector.map(_.get)
    finally pool.shutdownNow()

  private val hidden = Inputs.Shared(Json.Null)
  private def bare(flare: Flare) = flare.copy(request = flare.request.copy(inputs = hidden))
  private def line(text: String, worker: Option[Int] = Some(0)) =
    LogLine(worker, 0, LogStream.Stderr, 5, text)

  storage.test("an unknown flare has nothing, and adding to it adds nothing"): s =>
    val id = FlareId.random()
    assertEquals(s.flares.find(id), None)
    s.flares.addLogs(id, Vector(line("lost")))
    s.flares.addPhases(id, Vector(PhaseMark(0, "p", 1)))
    assertEquals(s.flares.logs(id, None), StoredLogs(Vector.empty, false))
    assertEquals(s.flares.phases(id), Vector.empty)
    assertEquals(s.flares.results(id), Vector.empty)

  storage.test("results of a flare that is not there are a failure of the store, not silence"): s =>
    intercept[StoreException]:
      s.flares.addResults(FlareId.random(), Vector(WorkerResult(0, Some(1.asJson), None)))

  storage.test("what is written together is stored together, or not at all"): s =>
    val f = flare()
    s.flares.insert(f)
    val output = WorkerResult(0, Some(1.asJson), None)
    def end(ending: Flare): Unit = s.flares.together:
      s.flares.addResults(f.id, Vector(output))
      s.flares.addLogs(f.id, Vector(line("said")))
      s.flares.addPhases(f.id, Vector(PhaseMark(0, "p", 1)))
      s.flares.update(ending)
    intercept[FlareTaken](end(flare()))
    assertEquals(s.flares.find(f.id), Some(bare(f)))
    assertEquals(s.flares.results(f.id), Vector.empty)
    assertEquals(s.flares.logs(f.id, None).lines, Vector.empty)
    assertEquals(s.flares.phases(f.id), Vector.empty)
    end(grown(f, FlareState.Succeeded))
    assertEquals(s.flares.find(f.id), Some(bare(grown(f, FlareState.Succeeded))))
    assertEquals(s.flares.results(f.id), Vector(output))
    assertEquals(s.flares.logs(f.id, None).lines, Vector(line("said")))
    // What comes after is a transaction of its own again.
    s.flares.insert(flare())

  storage.test("a flare comes back whole but for its inputs, and again after each update"): s =>
    val queued = flare()
    s.flares.insert(queued)
    assertEquals(s.flares.find(queued.id), Some(bare(queued)))
    (FlareState.values.filterNot(_.isFinal) :+ FlareState.Failed).foreach: state =>
      s.flares.update(grown(queued, state))
      assertEquals(s.flares.find(queued.id), Some(bare(grown(queued, state))))

  storage.test("unfinished flares come back with their inputs, oldest first; ended ones do not"): s =>
    val old = flare(created = 1, inputs = Inputs.Shared(Json.obj("k" -> 1.asJson)))
    val young = grown(flare(created = 2), FlareState.Running)
    s.flares.insert(young)
    s.flares.insert(old)
    s.flares.insert(flare(created = 0, state = FlareState.Succeeded))
    assertEquals(s.flares.takeUnfinished(), Vector(old, young))
    s.flares.update(grown(old, FlareState.Cancelled))
    assertEquals(s.flares.takeUnfinished(), Vector(young))

  storage.test("an ended flare stays as it ended; to be told the same again is no fault"): s =>
    val f = flare()
    s.flares.insert(f)
    val ended = grown(f, FlareState.Failed)
    s.flares.update(ended)
    s.flares.update(ended)
    Vector(
      grown(f, FlareState.Running),
      grown(f, FlareState.Succeeded),
      ended.copy(error = None),
      ended.copy(ended = Some(1301)),
      grown(flare(), FlareState.Failed)
    ).foreach(other => intercept[FlareTaken](s.flares.update(other)))
    assertEquals(s.flares.find(f.id), Some(bare(ended)))

  sharing.test("of two controllers that end a flare differently at once, one does"): (one, other) =>
    val flares = Vector.fill(20)(flare())
    flares.foreach(one.flares.insert)
    // Half of them are taken over while both are at it.
    val ends = flares.map: f =>
      Vector(one -> FlareState.Succeeded, other -> FlareState.Failed).map((store, state) =>
        () => Try(store.flares.update(grown(f, state))).map(_ => state)
      )
    val takeOver = () => Try(other.flares.takeUnfinished()).map(_ => FlareState.Queued)
    val told = together((ends.flatten :+ takeOver).map(work => () => work()))
    flares.zip(told.grouped(2)).foreach: (f, outcomes) =>
      val ended = outcomes.flatMap(_.toOption)
      assert(outcomes.flatMap(_.failed.toOption).forall(_.isInstanceOf[FlareTaken]), outcomes)
      val found = one.flares.find(f.id).map(_.state).filter(_.isFinal)
      assertEquals(found.toVector, ended)

  sharing.test("who was paused while another took its flares over changes nothing of them any more"):
    (paused, successor) =>
      val f = flare()
      paused.flares.insert(f)
      paused.flares.update(grown(f, FlareState.Running))
      assertEquals(successor.flares.takeUnfinished(), Vector(grown(f, FlareState.Running)))
      val result = Vector(WorkerResult(0, Some("late".asJson), None))
      Vector[() => Unit](
        () => paused.flares.update(grown(f, FlareState.Succeeded)),
        () => paused.flares.addResults(f.id, result),
        () => paused.flares.addLogs(f.id, Vector(line("late"))),
        () => paused.flares.addPhases(f.id, Vector(PhaseMark(0, "late", 1))),
        () => paused.flares.clearAttempt(f.id)
      ).foreach(write => intercept[FlareTaken](write()))
      successor.flares.addResults(f.id, Vector(WorkerResult(0, Some("mine".asJson), None)))
      successor.flares.update(grown(f, FlareState.Failed))
      intercept[FlareTaken](paused.flares.update(grown(f, FlareState.Succeeded)))
      intercept[Superseded](paused.flares.insert(flare()))
      successor.flares.insert(flare())
      assertEquals(paused.flares.find(f.id), Some(bare(grown(f, FlareState.Failed))))
      assertEquals(paused.flares.results(f.id).flatMap(_.output), Vector("mine".asJson))
      assertEquals(paused.flares.logs(f.id, None).lines, Vector.empty)

  storage.test("groups are listed and counted apart from flares, and keep their inputs while they last"): s =>
    val (single, group) = (flare(), flare())
    val held = group.copy(request = group.request.copy(group = Some(GroupRole.Holder(7))))
    Vector(single, held).foreach(s.flares.insert)
    def ids(groups: Boolean) = s.flares.list(Some(single.namespace), None, None, 10, 0, groups).map(_.id)
    assertEquals((ids(groups = false), ids(groups = true)), (Vector(single.id), Vector(held.id)))
    assertEquals(s.flares.countByState().values.sum, 1)
    assertEquals(s.flares.find(held.id).flatMap(_.request.idleTimeout), Some(7L))
    assertEquals(s.flares.inputs(held.id), Some(held.request.inputs))
    s.flares.update(grown(held, FlareState.Cancelled))
    assertEquals(s.flares.inputs(held.id), None)

  storage.test("a list is of one namespace, newest first, filtered, cut, and without parts"): s =>
    val flares = Vector.tabulate(4)(i => flare(created = i, name = if i % 2 == 0 then "even" else "odd"))
    flares.foreach(s.flares.insert)
    s.flares.insert(flare(namespace = "elsewhere"))
    s.flares.update(grown(flares(3), FlareState.Failed))
    def created(found: Vector[Flare]) = found.map(_.created)
    assertEquals(created(s.flares.list(Some("guest"), None, None, 10, 0)), Vector(3L, 2L, 1L, 0L))
    assertEquals(created(s.flares.list(Some("guest"), Some("even"), None, 10, 0)), Vector(2L, 0L))
    assertEquals(created(s.flares.list(Some("guest"), None, Some(FlareState.Failed), 10, 0)), Vector(3L))
    assertEquals(
      created(s.flares.list(Some("guest"), Some("odd"), Some(FlareState.Queued), 10, 0)),
      Vector(1L)
    )
    assertEquals(created(s.flares.list(None, None, Some(FlareState.Failed), 10, 0)).contains(3L), true)
    assertEquals(created(s.flares.list(Some("guest"), None, None, 2, 1)), Vector(2L, 1L))
    assert(s.flares.list(Some("guest"), None, None, 10, 0).forall(f => f.packs.isEmpty && f.workers.isEmpty))

  storage.test("results tell an output of null from none, and the last one of a worker stays"): s =>
    val f = flare()
    s.flares.insert(f)
    val failure = Failure(FailureKind.OutOfMemory, "killed", pack = Some(1))
    s.flares.addResults(f.id, Vector.empty)
    s.flares.addResults(
      f.id,
      Vector(WorkerResult(1, None, Some(failure)), WorkerResult(0, Some("first".asJson), None))
    )
    s.flares.addResults(f.id, Vector(WorkerResult(0, Some(Json.Null), None)))
    assertEquals(
      s.flares.results(f.id),
      Vector(WorkerResult(0, Some(Json.Null), None), WorkerResult(1, None, Some(failure)))
    )

  storage.test("logs keep their order and their writer"): s =>
    val f = flare()
    s.flares.insert(f)
    val lines = Vector(line("b"), line("a", None), line("ü\u0000'\"", Some(1)))
    s.flares.addLogs(f.id, lines.take(2))
    s.flares.addLogs(f.id, lines.drop(2))
    assertEquals(s.flares.logs(f.id, None), StoredLogs(lines, truncated = false))
    assertEquals(s.flares.logs(f.id, Some(1)).lines, lines.drop(2))

  storage.test("logs beyond the limit are dropped and said to be; a log has no holes"): s =>
    val f = flare()
    s.flares.insert(f)
    s.flares.addLogs(f.id, Vector(line("x" * 49), line("y" * 49)))
    assertEquals(s.flares.logs(f.id, None).truncated, false)
    s.flares.addLogs(f.id, Vector(line("")))
    s.flares.addLogs(f.id, Vector(line("")))
    assertEquals(s.flares.logs(f.id, None).lines.size, 2)
    assert(s.flares.logs(f.id, Some(7)).truncated)
    val g = flare()
    s.flares.insert(g)
    s.flares.addLogs(g.id, Vector(line("z" * 200), line("small")))
    assertEquals(s.flares.logs(g.id, None), StoredLogs(Vector.empty, truncated = true))

  storage.test("marks come by worker and time, and only as many as the limit allows"): s =>
    val f = flare()
    s.flares.insert(f)
    s.flares.addPhases(f.id, Vector(PhaseMark(1, "x", 5), PhaseMark(0, "late", 9)))
    s.flares.addPhases(f.id, Vector(PhaseMark(0, "early", 1), PhaseMark(0, "dropped", 2)))
    assertEquals(s.flares.phases(f.id).map(_.name), Vector("early", "late", "x"))
    val g = flare()
    s.flares.insert(g)
    s.flares.addPhases(g.id, Vector(PhaseMark(0, "n\u0000l", 1)))
    assertEquals(s.flares.phases(g.id).map(_.name), Vector("n\u0000l"))

  storage.test("clearing an attempt leaves the flare and frees its limits"): s =>
    val f = flare()
    s.flares.insert(f)
    s.flares.addResults(f.id, Vector(WorkerResult(0, Some(1.asJson), None)))
    s.flares.addLogs(f.id, Vector(line("x" * 150)))
    s.flares.addPhases(f.id, Vector.fill(5)(PhaseMark(0, "p", 1)))
    s.flares.clearAttempt(f.id)
    assertEquals(s.flares.results(f.id), Vector.empty)
    s.flares.addLogs(f.id, Vector(line("x")))
    s.flares.addPhases(f.id, Vector(PhaseMark(0, "p", 1)))
    assertEquals(s.flares.logs(f.id, None), StoredLogs(Vector(line("x")), truncated = false))
    assertEquals(s.flares.phases(f.id).size, 1)
    assertEquals(s.flares.takeUnfinished(), Vector(f))

  storage.test("flares are counted by state"): s =>
    s.flares.insert(flare())
    s.flares.insert(flare())
    s.flares.insert(flare(state = FlareState.TimedOut))
    assertEquals(s.flares.countByState(), Map(FlareState.Queued -> 2, FlareState.TimedOut -> 1))

  storage.test("pruning deletes by age and by number, oldest first, in batches, and never what runs"): s =>
    val running = flare(created = 0)
    s.flares.insert(running)
    val ended = Vector.tabulate(6)(i => flare(created = i * 100L, state = FlareState.Succeeded))
    ended.foreach(s.flares.insert)
    s.flares.addResults(ended(0).id, Vector(WorkerResult(0, Some(1.asJson), None)))
    def left = s.flares.list(Some("guest"), None, None, 100, 0).map(_.created)
    assertEquals(s.flares.prune(keep = 10, endedBefore = 0, batch = 10), 0)
    assertEquals(s.flares.prune(keep = 10, endedBefore = 111, batch = 1), 1)
    assertEquals(left, Vector(500L, 400L, 300L, 200L, 100L, 0L))
    assertEquals(s.flares.results(ended(0).id), Vector.empty)
    assertEquals(s.flares.prune(keep = 10, endedBefore = 111, batch = 10), 1)
    assertEquals(s.flares.prune(keep = 2, endedBefore = 0, batch = 10), 2)
    assertEquals(left, Vector(500L, 400L, 0L))
    assertEquals(s.flares.takeUnfinished(), Vector(running))
