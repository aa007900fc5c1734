package burst.controller.store

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.definition.{SealedEnvironment, SealedSecret}
import burst.controller.flare.*
import burst.controller.scheduler.Spool
import burst.controller.store.FlareChange.{LogPiece, Record}
import burst.controller.store.Samples.*
import burst.node.MonotonicTime
import burst.protocol.*
import java.nio.file.{Files, NoSuchFileException, Path}
import java.util.concurrent.{Callable, Executors}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*
import scala.util.Try

/** What every implementation of [[FlareStore]] must do, opened with limits of 1000 bytes of log and 3 marks.
  */
abstract class FlareStoreContract extends StorageFixtures:
  private def together[A](work: Vector[Callable[A]]): Vector[A] =
    val pool = Executors.newFixedThreadPool(8)
    try pool.invokeAll(work.asJava).asScala.toVector.map(_.get)
    finally pool.shutdownNow()

  /** The flare as it is taken over: its inputs stay in the store. */
  private def kept(flare: Flare) =
    val length = flare.request.inputs.text.length.toLong
    flare.copy(request = flare.request.copy(inputs = Inputs.OutOfLine(length)))

  private val hidden = Inputs.Hidden
  private def bare(flare: Flare) = flare.copy(request = flare.request.copy(inputs = hidden))
  private def line(text: String, worker: Option[Int] = Some(0)) =
    LogText(worker, PackId(0), LogStream.Stderr, Timestamp.ofMicros(5), text)

  storage.test("an unknown flare has nothing, and adding to it has no effect"): s =>
    val id = FlareId.random()
    assertEquals(s.flares.find(id), None)
    s.flares.addLogs(id, Vector(line("lost")))
    s.flares.addPhases(id, Vector(PhaseMark(0, "p", Timestamp.ofMicros(1))))
    assertEquals(s.flares.logExtent(id), LogExtent(0, 0, truncated = false))
    assertEquals(s.flares.phases(id), Vector.empty)
    assertEquals(s.flares.results(id, 0, 99), Vector.empty)

  storage.test("results of an unknown flare are a failure of the store"): s =>
    intercept[StoreException]:
      s.flares.addResults(FlareId.random(), Vector(WorkerResult(0, Some(short("1")), None)))

  storage.test("what is written together is stored together or not at all"): s =>
    val f = flare()
    s.flares.insert(f)
    val output = WorkerResult(0, Some(short("1")), None)
    def end(ending: Flare): Unit =
      val (logs, phases) =
        (Vector(LogPiece(Vector(line("said")))), Vector(PhaseMark(0, "p", Timestamp.ofMicros(1))))
      val _ = s.flares.write(FlareChange(ending.id, Record.Next(ending), Vector(output), logs, phases))
    intercept[FlareTaken](end(flare()))
    assertEquals(s.flares.find(f.id), Some(bare(f)))
    assertEquals(s.flares.results(f.id, 0, 99), Vector.empty)
    assertEquals(s.flares.logTexts(f.id), Vector.empty)
    assertEquals(s.flares.phases(f.id), Vector.empty)
    end(grown(f, FlareState.Succeeded))
    assertEquals(s.flares.find(f.id), Some(bare(grown(f, FlareState.Succeeded))))
    assertEquals(s.flares.results(f.id, 0, 99), Vector(output))
    assertEquals(s.flares.logTexts(f.id), Vector(line("said")))
    // A later change is a transaction of its own again.
    s.flares.insert(flare())

  storage.test("a flare is read back whole except for its inputs, and again after each update"): s =>
    val queued = flare()
    s.flares.insert(queued)
    assertEquals(s.flares.find(queued.id), Some(bare(queued)))
    (FlareState.values.filterNot(_.isFinal) :+ FlareState.Failed).foreach: state =>
      s.flares.update(grown(queued, state))
      assertEquals(s.flares.find(queued.id), Some(bare(grown(queued, state))))

  storage.test("a flare's origin is stored with it, so that its trace continues after a takeover"): s =>
    val plain = flare()
    val origin = Origin("request1", Some(TraceContext.of("a" * 32, "b" * 16, sampled = true)))
    val traced = plain.copy(request = plain.request.copy(origin = Some(origin)))
    s.flares.insert(traced)
    assertEquals(s.flares.find(traced.id).flatMap(_.request.origin), Some(origin))

  storage.test("a flare's variables are stored sealed, returned until it ends, and hidden otherwise"): s =>
    val environment = SealedEnvironment(Map("A" -> "é"), Vector(SealedSecret("TOKEN", "key", "AAAA")))
    val plain = flare()
    val f = plain.copy(request = plain.request.copy(environment = environment))
    s.flares.insert(f)
    assertEquals(s.flares.find(f.id), Some(bare(plain)))
    assertEquals(s.flares.takeUnfinished().map(_.request.environment), Vector(environment))
    s.flares.update(grown(f, FlareState.Running))
    assertEquals(s.flares.takeUnfinished().map(_.request.environment), Vector(environment))
    s.flares.update(grown(f, FlareState.Succeeded))
    assertEquals(s.flares.takeUnfinished(), Vector.empty)
    assertEquals(s.flares.inputs(f.id), None, "they were deleted with the inputs")

  storage.test("unfinished flares are returned with their inputs, oldest first; ended ones are not"): s =>
    val old = flare(created = 1, inputs = Inputs.Shared(JsonText("""{"k":1}""")))
    val young = grown(flare(created = 2), FlareState.Running)
    s.flares.insert(young)
    s.flares.insert(old)
    s.flares.insert(flare(created = 0, state = FlareState.Succeeded))
    assertEquals(s.flares.takeUnfinished(), Vector(kept(old), kept(young)))
    assertEquals(s.flares.inputs(old.id), Some(old.request.inputs))
    assertEquals(s.flares.inputs(young.id), Some(young.request.inputs))
    s.flares.update(grown(old, FlareState.Cancelled))
    assertEquals(s.flares.takeUnfinished(), Vector(kept(young)))
    assertEquals(s.flares.inputs(old.id), None)

  storage.test("of the given flares those that have not ended and are this store's are returned"): s =>
    val environment = SealedEnvironment(Map("A" -> "b"), Vector.empty)
    val plain = flare(inputs = Inputs.Shared(JsonText("""{"k":1}""")))
    val mine = plain.copy(request = plain.request.copy(environment = environment))
    val (other, ended) = (flare(), flare(state = FlareState.Succeeded))
    Vector(mine, other, ended).foreach(s.flares.insert(_))
    assertEquals(s.flares.unfinished(Vector(FlareId.random(), ended.id, mine.id)), Vector(kept(mine)))
    assertEquals(s.flares.unfinished(Vector.empty), Vector.empty)

  storage.test("an ended flare stays as it ended, and storing the same end again is no error"): s =>
    val f = flare()
    s.flares.insert(f)
    val ended = grown(f, FlareState.Failed)
    s.flares.update(ended)
    s.flares.update(ended)
    Vector(
      grown(f, FlareState.Running),
      grown(f, FlareState.Succeeded),
      ended.copy(error = None),
      ended.copy(ended = Some(Timestamp.ofMicros(1301))),
      grown(flare(), FlareState.Failed)
    ).foreach(other => intercept[FlareTaken](s.flares.update(other)))
    assertEquals(s.flares.find(f.id), Some(bare(ended)))

  sharing.test("if two controllers end a flare differently at the same time, one succeeds"): (one, other) =>
    val flares = Vector.fill(20)(flare())
    flares.foreach(one.flares.insert(_))
    // Half of them are taken over while both controllers write.
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

  sharing.test(
    "a paused scheduler whose flares another one has taken over can no longer change them"
  ): (paused, successor) =>
    val f = flare()
    paused.flares.insert(f)
    paused.flares.update(grown(f, FlareState.Running))
    assertEquals(successor.flares.takeUnfinished(), Vector(kept(grown(f, FlareState.Running))))
    val result = Vector(WorkerResult(0, Some(short("\"late\"")), None))
    Vector[() => Unit](
      () => paused.flares.update(grown(f, FlareState.Succeeded)),
      () => paused.flares.addResults(f.id, result),
      () => paused.flares.addLogs(f.id, Vector(line("late"))),
      () => paused.flares.addPhases(f.id, Vector(PhaseMark(0, "late", Timestamp.ofMicros(1)))),
      () => paused.flares.clearAttempt(f.id)
    ).foreach(write => intercept[FlareTaken](write()))
    successor.flares.addResults(f.id, Vector(WorkerResult(0, Some(short("\"mine\"")), None)))
    successor.flares.update(grown(f, FlareState.Failed))
    intercept[FlareTaken](paused.flares.update(grown(f, FlareState.Succeeded)))
    intercept[Superseded](paused.flares.insert(flare()))
    successor.flares.insert(flare())
    assertEquals(paused.flares.find(f.id), Some(bare(grown(f, FlareState.Failed))))
    assertEquals(paused.flares.results(f.id, 0, 99).flatMap(_.output), Vector(short("\"mine\"")))
    assertEquals(paused.flares.logTexts(f.id), Vector.empty)

  storage.test("a flare's attempt is the one that was stored last"): s =>
    val f = flare()
    assertEquals(s.flares.attempt(f.id), None)
    s.flares.insert(f)
    assertEquals(s.flares.attempt(f.id), Some(f.attempt))
    s.flares.update(f.copy(attempt = 2))
    assertEquals(s.flares.attempt(f.id), Some(2))

  storage.test("large inputs and parts of logs are stored beside the database, and read back unchanged"): s =>
    val each = Inputs.Each(Vector(JsonText("\"é\""), JsonText("[1]"), JsonText("null")))
    val files = Files.createTempDirectory("burst-beside")
    val spool = Spool.open(files.resolve("spool"), s.blobs)
    for inputs <- Vector(each, Inputs.Shared(JsonText(s"\"${"x" * Inputs.Small.toInt}\""))) do
      val large = flare(inputs = inputs)
      s.blobs.put(large.id, BlobName.Inputs, inputsFile(files, inputs))
      s.flares.insert(large.copy(request = large.request.withoutInputs))
      assertEquals(s.flares.inputs(large.id), Some(inputs))
      val said = Vector(line("before"), line("é\n"))
      assert(s.flares.addLogs(large.id, Vector(line("first"))))
      val part = BlobName.log("w", 0)
      spool.keepLog(large.id, part, said)
      assert(s.flares.addLogs(large.id, said, Some(part)))
      assert(s.flares.addLogs(large.id, Vector(line("last"))))
      assertEquals(s.flares.logTexts(large.id), line("first") +: said :+ line("last"))
      // A part that does not fit as a whole is cut and needs no blob.
      val long = Vector.fill(20)(line("long"))
      assert(!s.flares.addLogs(large.id, long, Some(BlobName.log("w", 1))))
      assertEquals(s.flares.logTexts(large.id).last, line("long"))
      s.blobs.delete(large.id, keep = Set(BlobName.Inputs))
      val extent = s.flares.logExtent(large.id)
      assertEquals(s.flares.logPart(large.id, extent.from + 1, extent.until), None)

  storage.test("inputs left behind by a controller are deleted by the next round, and others stay"): s =>
    val files = Files.createTempDirectory("burst-beside")
    val (live, over) = (flare(inputs = Inputs.OutOfLine(9)), flare(inputs = Inputs.OutOfLine(9)))
    for f <- Vector(live, over) do
      s.flares.insert(f)
      s.blobs.put(f.id, BlobName.Inputs, inputsFile(files, Inputs.Shared(JsonText("1"))))
      s.blobs.put(f.id, BlobName.output(0), inputsFile(files, Inputs.Shared(JsonText("2"))))
    s.flares.update(grown(over, FlareState.Failed))
    val lost = FlareId.random()
    s.blobs.put(lost, BlobName.output(0), inputsFile(files, Inputs.Shared(JsonText("3"))))
    val retention = Retention(100, 100_000.days, 1.minute, 10)
    var now = MonotonicTime.Zero
    var deletions = 0
    object counting extends FlareBlobStore:
      export s.blobs.{delete as _, read as _, *}
      def delete(id: FlareId, keep: Set[BlobName]): Unit = s.blobs.delete(id, keep)
      def delete(id: FlareId, name: BlobName): Unit =
        deletions += 1
        s.blobs.delete(id, name)
    val janitor = Janitor(s.flares, s.packages, counting, retention, _ => 1 << 20, elapsed = () => now)
    janitor.round()
    // It may be about to be stored.
    assert(s.blobs.load(lost, BlobName.output(0)).nonEmpty)
    now = now + Packages.Patience
    janitor.round()
    assertEquals(s.blobs.flares().toSet, Set(live.id, over.id))
    assertEquals(s.flares.inputs(live.id), Some(Inputs.Shared(JsonText("1"))))
    intercept[NoSuchFileException](s.blobs.load(over.id, BlobName.Inputs))
    assert(s.blobs.load(over.id, BlobName.output(0)).nonEmpty)
    assertEquals(deletions, 1, "a deleted blob is not deleted again")

  private def inputsFile(directory: Path, inputs: Inputs): Path =
    val content = InputsFile.encode(inputs).reduce(_ ++ _)
    Files.write(Files.createTempFile(directory, "inputs", ""), content.toArray)

  storage.test("groups are listed and counted apart from flares, and keep their inputs until they end"): s =>
    val (single, group) = (flare(), flare())
    val held = group.copy(request = group.request.copy(group = Some(GroupRole.Holder(7.millis))))
    Vector(single, held).foreach(s.flares.insert(_))
    def ids(groups: Boolean) = s.flares.list(Some(single.namespace), None, None, 10, 0, groups).map(_.id)
    assertEquals((ids(groups = false), ids(groups = true)), (Vector(single.id), Vector(held.id)))
    assertEquals(s.flares.countByState().values.sum, 1)
    assertEquals(s.flares.find(held.id).flatMap(_.request.idleTimeout), Some(7.millis))
    assertEquals(s.flares.inputs(held.id), Some(held.request.inputs))
    s.flares.update(grown(held, FlareState.Cancelled))
    assertEquals(s.flares.inputs(held.id), None)

  storage.test("a list has one namespace's flares, newest first, filtered and limited, without parts"): s =>
    val flares = Vector.tabulate(4)(i => flare(created = i, name = if i % 2 == 0 then "even" else "odd"))
    flares.foreach(s.flares.insert(_))
    s.flares.insert(flare(namespace = "elsewhere"))
    s.flares.update(grown(flares(3), FlareState.Failed))
    def created(found: Vector[Flare]) = found.map(_.created.micros)
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

  storage.test("results distinguish an output of null from none, and a worker's last result is kept"): s =>
    val f = flare()
    s.flares.insert(f)
    val failure = Failure(FailureKind.OutOfMemory, "killed", pack = Some(PackId(1)))
    s.flares.addResults(f.id, Vector.empty)
    s.flares.addResults(
      f.id,
      Vector(WorkerResult(1, None, Some(failure)), WorkerResult(0, Some(short("\"first\"")), None))
    )
    s.flares.addResults(f.id, Vector(WorkerResult(0, Some(short("null")), None)))
    assertEquals(
      s.flares.results(f.id, 0, 99),
      Vector(WorkerResult(0, Some(short("null")), None), WorkerResult(1, None, Some(failure)))
    )

  storage.test("results written with a flare's record are stored and counted like later ones"): s =>
    val output = WorkerResult(0, Some(short("null")), None)
    val failed = WorkerResult(0, None, Some(Failure(FailureKind.Error, "no")))
    val beside = WorkerResult(1, Some(Output.OutOfLine(70_000)), None)
    // The most bytes at which the older of two flares has to be deleted.
    def counted(name: String) =
      Iterator.iterate(1L << 20)(_ / 2).takeWhile(_ > 0).foldLeft(0L): (most, step) =>
        if s.flares.outdated(name, Keep(10, Timestamp.Epoch, most + step)).isDefined then most + step
        else most
    for
      (told, kept) <- Vector(
        Vector(output) -> Vector(output),
        Vector(failed) -> Vector(failed),
        Vector(failed, beside, output) -> Vector(output, beside)
      )
    do
      val (together, apart) = (s"one-${kept.hashCode}", s"two-${kept.hashCode}")
      def ended(name: String, created: Long) =
        flare(created, state = FlareState.Succeeded, namespace = name)
      val (first, second) = (ended(together, 1000), ended(apart, 1000))
      s.flares.insert(first, begun = true, told)
      s.flares.insert(second)
      s.flares.addResults(second.id, told)
      assertEquals(s.flares.results(first.id, 0, 99), kept)
      assertEquals(s.flares.results(second.id, 0, 99), kept)
      Vector(together, apart).foreach(name => s.flares.insert(ended(name, 2000)))
      assertEquals(counted(together), counted(apart))

  storage.test("logs keep their order, their writers and their lines"): s =>
    val f = flare()
    s.flares.insert(f)
    val texts = Vector(line("b\n"), line("a", None), line("ü\u0000'\"", Some(1)))
    s.flares.addLogs(f.id, texts.take(2))
    s.flares.addLogs(f.id, texts.drop(2))
    assertEquals(s.flares.logTexts(f.id), texts)
    assertEquals(s.flares.logExtent(f.id).truncated, false)

  storage.test("logs beyond the limit are dropped and marked as truncated, without leaving holes"): s =>
    val f = flare()
    s.flares.insert(f)
    val cost = line("x" * 49).cost
    val full = (Samples.logLimit / cost).toInt
    s.flares.addLogs(f.id, Vector.fill(full)(line("x" * 49)))
    assertEquals(s.flares.logExtent(f.id).truncated, false)
    s.flares.addLogs(f.id, Vector(line("y" * 49), line("")))
    s.flares.addLogs(f.id, Vector(line("")))
    assertEquals(s.flares.logTexts(f.id).size, full)
    assert(s.flares.logExtent(f.id).truncated)
    val g = flare()
    s.flares.insert(g)
    s.flares.addLogs(g.id, Vector(line("z" * Samples.logLimit.toInt), line("small")))
    assertEquals(s.flares.logTexts(g.id), Vector.empty)
    assert(s.flares.logExtent(g.id).truncated)

  storage.test("an empty line counts like others towards the limit, and a text is cut between lines"): s =>
    val f = flare()
    s.flares.insert(f)
    s.flares.addLogs(f.id, Vector(line("\n" * 5000)))
    val lines = s.flares.logTexts(f.id).flatMap(_.lines)
    assertEquals(lines, Vector.fill((Samples.logLimit / LogText.LineCost).toInt)(""))
    assert(s.flares.logExtent(f.id).truncated)

  storage.test("a log that is cleared while it is read is not returned as complete"): s =>
    val f = flare()
    s.flares.insert(f)
    (1 to 3).foreach(n => s.flares.addLogs(f.id, Vector(line(s"first $n"))))
    val before = s.flares.logExtent(f.id)
    assertEquals((before.from, before.until), (0L, 3L))
    s.flares.clearAttempt(f.id)
    assertEquals(s.flares.logTexts(f.id), Vector.empty)
    s.flares.addLogs(f.id, Vector(line("second")))
    assertEquals(s.flares.logPart(f.id, 1, before.until), None)
    assertEquals(s.flares.logTexts(f.id), Vector(line("second")))
    // Lines that are added later do not belong to the log that was asked for.
    val later = s.flares.logExtent(f.id)
    s.flares.addLogs(f.id, Vector(line("third")))
    assertEquals(
      s.flares.logPart(f.id, later.from, later.until),
      Some(LogPart(Vector(line("second")), later.until))
    )

  storage.test("marks are sorted by worker and time, and limited in number"): s =>
    val f = flare()
    s.flares.insert(f)
    s.flares.addPhases(
      f.id,
      Vector(PhaseMark(1, "x", Timestamp.ofMicros(5)), PhaseMark(0, "late", Timestamp.ofMicros(9)))
    )
    s.flares.addPhases(
      f.id,
      Vector(PhaseMark(0, "early", Timestamp.ofMicros(1)), PhaseMark(0, "dropped", Timestamp.ofMicros(2)))
    )
    assertEquals(s.flares.phases(f.id).map(_.name), Vector("early", "late", "x"))
    val g = flare()
    s.flares.insert(g)
    s.flares.addPhases(g.id, Vector(PhaseMark(0, "n\u0000l", Timestamp.ofMicros(1))))
    assertEquals(s.flares.phases(g.id).map(_.name), Vector("n\u0000l"))

  storage.test("clearing an attempt leaves the flare and frees its limits"): s =>
    val f = flare()
    s.flares.insert(f)
    s.flares.addResults(f.id, Vector(WorkerResult(0, Some(short("1")), None)))
    s.flares.addLogs(f.id, Vector(line("x" * 1500)))
    s.flares.addPhases(f.id, Vector.fill(5)(PhaseMark(0, "p", Timestamp.ofMicros(1))))
    s.flares.clearAttempt(f.id)
    assertEquals(s.flares.results(f.id, 0, 99), Vector.empty)
    s.flares.addLogs(f.id, Vector(line("x")))
    s.flares.addPhases(f.id, Vector(PhaseMark(0, "p", Timestamp.ofMicros(1))))
    assertEquals(s.flares.logTexts(f.id), Vector(line("x")))
    assertEquals(s.flares.logExtent(f.id).truncated, false)
    assertEquals(s.flares.phases(f.id).size, 1)
    assertEquals(s.flares.takeUnfinished(), Vector(kept(f)))

  storage.test("flares are counted by state"): s =>
    s.flares.insert(flare())
    s.flares.insert(flare())
    s.flares.insert(flare(state = FlareState.TimedOut))
    assertEquals(s.flares.countByState(), Map(FlareState.Queued -> 2, FlareState.TimedOut -> 1))

  storage.test("pruning deletes by age and number, oldest first, in batches, and never running flares"): s =>
    val running = flare(created = 0)
    s.flares.insert(running)
    val ended = Vector.tabulate(6)(i => flare(created = i * 100L, state = FlareState.Succeeded))
    ended.foreach(s.flares.insert(_))
    s.flares.addResults(ended(0).id, Vector(WorkerResult(0, Some(short("1")), None)))
    def left = s.flares.list(Some("guest"), None, None, 100, 0).map(_.created.micros)
    def prune(keep: Keep, batch: Int): Int =
      s.flares.outdated("guest", keep).fold(0)(s.flares.prune("guest", _, batch).flares)
    val all = Keep(10, Timestamp.Epoch, 1 << 20)
    assertEquals(prune(all, 10), 0)
    assertEquals(prune(all.copy(endedSince = Timestamp.ofMicros(111)), 1), 1)
    assertEquals(left, Vector(500L, 400L, 300L, 200L, 100L, 0L))
    assertEquals(s.flares.results(ended(0).id, 0, 99), Vector.empty)
    assertEquals(prune(all.copy(endedSince = Timestamp.ofMicros(111)), 10), 1)
    assertEquals(prune(all.copy(flares = 2), 10), 2)
    assertEquals(left, Vector(500L, 400L, 0L))
    assertEquals(s.flares.takeUnfinished(), Vector(kept(running)))

  storage.test("the oldest flares of a namespace with too many bytes are deleted, and no others"): s =>
    def leaving(created: Long, namespace: String = "guest") =
      val f = flare(created, namespace = namespace)
      s.flares.insert(f)
      val ended = f.copy(state = FlareState.Succeeded, ended = Some(f.created + 1.micro))
      val results = Vector(WorkerResult(0, Some(short("\"" + "x" * 10000 + "\"")), None))
      val (logs, phases) =
        (Vector(LogPiece(Vector(line("said")))), Vector(PhaseMark(0, "p", Timestamp.ofMicros(1))))
      s.flares.write(FlareChange(f.id, Record.Next(ended), results, logs, phases))
      f.id
    val first = leaving(1)
    val others = leaving(0, "other")
    val rest = Vector(leaving(2), leaving(3))
    assertEquals(s.flares.namespaces(), Vector("guest", "other"))
    def outdated(bytes: Long) = s.flares.outdated("guest", Keep(10, Timestamp.Epoch, bytes))
    assertEquals(outdated(40000), None)
    assertEquals(outdated(29000), Some(Timestamp.ofMicros(2)))
    assertEquals(outdated(0), Some(Timestamp.ofMicros(3)), "the newest flare stays, whatever its size")
    assertEquals(s.flares.prune("guest", Timestamp.ofMicros(2), 10).flares, 1)
    assertEquals(s.flares.find(first), None)
    assertEquals((rest :+ others).flatMap(s.flares.find).size, 3)
    assertEquals(outdated(29000), None)

  storage.test("a cleared attempt takes no room any more"): s =>
    val f = flare()
    s.flares.insert(f)
    s.flares.addResults(f.id, Vector(WorkerResult(0, Some(short("\"" + "x" * 10000 + "\"")), None)))
    s.flares.clearAttempt(f.id)
    s.flares.update(grown(f, FlareState.Failed))
    s.flares.insert(flare(created = 0, state = FlareState.Failed))
    assertEquals(s.flares.outdated("guest", Keep(10, Timestamp.Epoch, 9000)), None)

  storage.test("phase marks are deleted with their flare"): s =>
    val f = flare()
    s.flares.insert(f)
    s.flares.addPhases(f.id, Vector(PhaseMark(0, "p", Timestamp.ofMicros(1))))
    s.flares.update(grown(f, FlareState.Failed))
    assertEquals(s.flares.prune("guest", Timestamp.ofMicros(Long.MaxValue), 10).flares, 1)
    assertEquals(s.flares.phases(f.id), Vector.empty)

  storage.test("a flare is stored only if its package exists"): s =>
    val lost = flare(pkg = PackageId.of(Array[Byte](9)))
    intercept[PackageGone](s.flares.insert(lost))
    assertEquals(s.flares.find(lost.id), None)
    // except for one that already runs, on a pack that has the package
    s.flares.insert(lost, begun = true)
    assertEquals(s.flares.find(lost.id).map(_.id), Some(lost.id))
