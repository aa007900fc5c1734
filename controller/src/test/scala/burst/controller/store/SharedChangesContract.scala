package burst.controller.store

import burst.controller.flare.*
import burst.controller.store.FlareChange.{LogPiece, Record}
import burst.controller.store.Samples.*
import burst.protocol.*
import scala.collection.mutable
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.jdk.CollectionConverters.*
import scala.util.{Failure, Success, Try}

/** Changes of many flares that share a transaction: each has the same effect as if it were alone. */
abstract class SharedChangesContract extends StorageFixtures:
  private def line(text: String) = LogText(Some(0), PackId(0), LogStream.Stdout, Timestamp.ofMicros(5), text)
  private def lines(text: String) = Vector(LogPiece(Vector(line(text))))
  private def output(text: String) = Vector(WorkerResult(0, Some(short(text)), None))
  private def fresh(flare: Flare) = FlareChange(flare.id, Record.New(flare, begun = false))
  private def next(flare: Flare) = FlareChange(flare.id, Record.Next(flare))

  /** Writes the changes in one transaction. */
  private def write(storage: Storage, changes: Vector[FlareChange]): Vector[Try[Boolean]] =
    storage.flares match
      case store: JdbcFlareStore => store.write(changes)
      case other => fail(s"$other")

  /** Writes the changes so that all of them arrive before the first is done. */
  private def writeLater(storage: Storage, changes: Vector[FlareChange]): Vector[Try[Boolean]] =
    val waiting = mutable.Queue.empty[Runnable]
    val threads = new ExecutionContext:
      def execute(work: Runnable): Unit = waiting += work
      def reportFailure(cause: Throwable): Unit = throw cause
    val written = changes.map(change => storage.flares.write(change)(threads))
    while waiting.nonEmpty do waiting.dequeue().run()
    written.map(_.value.getOrElse(fail("a change was forgotten")))

  storage.test("each change is stored whole, whatever it consists of"): s =>
    val all = Vector.tabulate(40)(i => flare(created = i))
    val (before, meanwhile) = all.splitAt(30)
    assertEquals(write(s, before.map(fresh)), Vector.fill(30)(Success(true)))
    val changes = before.zipWithIndex.map: (f, i) =>
      val record = if i % 3 == 0 then Record.Same else Record.Next(grown(f, FlareState.Succeeded))
      val results = if i % 2 == 0 then output(s"$i") else Vector.empty
      val logs = if i % 5 == 0 then Vector.empty else lines(s"said $i")
      val phases = if i % 7 == 0 then Vector(PhaseMark(0, s"p$i", Timestamp.ofMicros(i))) else Vector.empty
      FlareChange(f.id, record, results, logs, phases)
    assertEquals(write(s, changes ++ meanwhile.map(fresh)), Vector.fill(40)(Success(true)))
    changes.zip(before).zipWithIndex.foreach { case ((change, f), i) =>
      val state = if i % 3 == 0 then FlareState.Queued else FlareState.Succeeded
      assertEquals(s.flares.find(f.id).map(_.state), Some(state))
      assertEquals(s.flares.inputs(f.id).isDefined, !state.isFinal)
      assertEquals(s.flares.results(f.id, 0, 9), change.results)
      assertEquals(s.flares.logTexts(f.id), change.logs.flatMap(_.texts))
      assertEquals(s.flares.phases(f.id), change.phases)
    }
    meanwhile.foreach(f => assertEquals(s.flares.inputs(f.id), Some(f.request.inputs)))

  storage.test("a refused change reports the reason, and no other change is refused"): s =>
    val Vector(running, ended, differently, full) = Vector.tabulate(4)(i => flare(created = i)): @unchecked
    Vector(running, ended, differently, full).foreach(s.flares.insert(_))
    val end = grown(ended, FlareState.Failed)
    s.flares.write(FlareChange(ended.id, Record.Next(end), output("1"), lines("once")))
    s.flares.update(grown(differently, FlareState.Succeeded))
    val packageless = flare(pkg = PackageId.of(Array[Byte](9)))
    val (unknown, forgotten) = (FlareId.random(), FlareId.random())
    val outcomes = write(
      s,
      Vector(
        next(grown(running, FlareState.Running)),
        FlareChange(ended.id, Record.Next(end), output("2"), lines("again")),
        next(grown(differently, FlareState.Failed)),
        FlareChange(full.id, logs = lines("x" * logLimit.toInt)),
        fresh(packageless),
        FlareChange(unknown, results = output("1")),
        FlareChange(
          forgotten,
          logs = lines("lost"),
          phases = Vector(PhaseMark(0, "p", Timestamp.ofMicros(1)))
        ),
        fresh(flare(created = 9)).copy(results = output("3"), logs = lines("begun"))
      )
    )
    val told = outcomes.map:
      case Success(mayLog) => mayLog.toString
      case Failure(refused) => refused.getClass.getSimpleName
    assertEquals(
      told,
      Vector("true", "true", "FlareTaken", "false", "PackageGone", "FlareTaken", "true", "true")
    )
    assertEquals(s.flares.find(running.id).map(_.state), Some(FlareState.Running))
    // It was stored before.
    assertEquals(s.flares.results(ended.id, 0, 9), output("1"))
    assertEquals(s.flares.logTexts(ended.id), Vector(line("once")))
    assertEquals(s.flares.find(differently.id).map(_.state), Some(FlareState.Succeeded))
    assertEquals(s.flares.find(packageless.id), None)
    assertEquals(s.flares.logExtent(forgotten), LogExtent(0, 0, truncated = false))

  storage.test("a change that the database rejects fails alone"): s =>
    // Its result belongs to no flare.
    val wrong = fresh(flare()).copy(id = FlareId.random(), results = output("1"))
    val others = Vector.fill(5)(flare())
    val outcomes = writeLater(s, wrong +: others.map(fresh))
    assertEquals(outcomes.map(_.isSuccess), false +: Vector.fill(5)(true))
    assert(outcomes.head.failed.toOption.exists(_.isInstanceOf[StoreException]), outcomes)
    others.foreach(f => assert(s.flares.find(f.id).isDefined))
    intercept[StoreException](write(s, wrong +: Vector.fill(2)(fresh(flare()))))

  storage.test("a new flare that was already stored, unnoticed, is reported as stored"): s =>
    val (plain, asked) = (flare(), flare(created = Timestamp.now().micros))
    val keyed = asked.copy(request = asked.request.copy(submission = Some(Submission("k", "d"))))
    Vector(plain, keyed).foreach: f =>
      val whole = fresh(f).copy(results = output("1"), logs = lines("said"))
      assert(s.flares.write(whole))
      assert(s.flares.write(whole))
      assertEquals(s.flares.results(f.id, 0, 9), output("1"))
      assertEquals(s.flares.logTexts(f.id), Vector(line("said")))
      // It has continued since.
      assert(s.flares.write(whole.copy(logs = lines("said more"))))
      assertEquals(s.flares.logTexts(f.id), Vector(line("said more")))
      assert(s.flares.write(fresh(grown(f, FlareState.Running))))
      assertEquals(s.flares.find(f.id).map(_.state), Some(FlareState.Running))
      assertEquals(s.flares.results(f.id, 0, 9), Vector.empty)
      assertEquals(s.flares.inputs(f.id), Some(f.request.inputs))
      assert(s.flares.write(whole))
    val other = flare()
    val taken = fresh(other.copy(request = other.request.copy(submission = Some(Submission("k", "d")))))
    val again = fresh(keyed).copy(results = output("1"), logs = lines("said"))
    assertEquals(write(s, Vector(taken, again)).map(_.isSuccess), Vector(false, true))
    // A flare that has ended stays as it is.
    s.flares.update(grown(plain, FlareState.Succeeded))
    intercept[StoreException](s.flares.write(fresh(plain)))
    assertEquals(s.flares.find(plain.id).map(_.state), Some(FlareState.Succeeded))

  storage.test("the database's error messages reveal nothing of the stored data"): s =>
    val present = flare()
    s.flares.insert(present)
    val change = FlareChange(present.id, results = output("\"confided\""), logs = lines("confided"))
    val told = intercept[StoreException](write(s, Vector(change, change)))
    val causes = Iterator.iterate(told: Throwable | Null)(_.nn.getCause).takeWhile(_ != null).toVector
    val next = causes.collect { case sql: java.sql.SQLException => sql.iterator.asScala }.flatten
    (causes ++ next).foreach(cause => assert(!cause.toString.contains("confided"), cause))

  storage.test("the size of shared changes is counted like that of single ones"): s =>
    val (together, alone) = (flare(namespace = "one"), flare(namespace = "two"))
    def steps(f: Flare, write: Vector[FlareChange] => Unit): Unit =
      val other = flare(namespace = "third")
      write(Vector(fresh(f), fresh(other)))
      write(Vector(
        FlareChange(f.id, Record.Same, output("12345"), lines("said")),
        next(grown(other, FlareState.Running))
      ))
      val end = grown(f, FlareState.Succeeded)
      write(Vector(FlareChange(
        f.id,
        Record.Next(end),
        output("\"x\""),
        lines("more"),
        Vector(PhaseMark(0, "p", Timestamp.ofMicros(1)))
      )))
    steps(together, changes => write(s, changes).foreach(_.get))
    steps(alone, _.foreach(s.flares.write(_)))
    val filler = (namespace: String) =>
      flare(namespace = namespace).copy(state = FlareState.Succeeded, ended = Some(Timestamp.ofMicros(5000)))
    Vector("one", "two").foreach(namespace => s.flares.insert(filler(namespace)))
    // All bytes of the namespace.
    def bytes(namespace: String): Option[Int] =
      (0 to 5000).find(bytes => s.flares.outdated(namespace, Keep(10, Timestamp.Epoch, bytes)).isEmpty)
    def record(f: Flare): Int =
      FlareColumns.request(f).length + FlareColumns.progress(f).length + FlareColumns.parts(f).length
    val results = Stored.RowBytes + "12345".length + Stored.RowBytes + "\"x\"".length
    val logged = line("said").cost + line("more").cost
    val expected = record(grown(together, FlareState.Succeeded)) + record(filler("one")) + results + logged +
      Stored.RowBytes + "p".length
    assertEquals(bytes("one"), Some(expected.toInt))
    assertEquals(bytes("two"), bytes("one"))

  sharing.test("changes of taken-over flares are refused, unless these had ended before"): (one, other) =>
    val all = Vector.fill(6)(flare())
    all.foreach(one.flares.insert(_))
    val (live, ended) = all.splitAt(3)
    ended.foreach(f => one.flares.update(grown(f, FlareState.Succeeded)))
    val _ = other.flares.takeUnfinished()
    val late = live.map(f => next(grown(f, FlareState.Running))) ++
      ended.map(f => FlareChange(f.id, logs = lines("late"))) :+ fresh(flare())
    val outcomes = write(one, late)
    assertEquals(outcomes.map(_.isSuccess), Vector.fill(3)(false) ++ Vector.fill(3)(true) :+ false)
    assert(outcomes.take(3).forall(_.failed.toOption.exists(_.isInstanceOf[FlareTaken])), outcomes)
    assert(outcomes.last.failed.toOption.exists(_.isInstanceOf[Superseded]), outcomes)
    ended.foreach(f => assertEquals(other.flares.logTexts(f.id), Vector(line("late"))))

  sharing.test("writing and taking over do not block each other"): (one, other) =>
    // Each scheduler does this before it writes anything; it creates the row that both lock.
    val _ = one.flares.takeUnfinished()
    val all = Vector.fill(40)(flare())
    all.foreach(one.flares.insert(_))
    (1 to 20).foreach: round =>
      val (own, next) = if round % 2 == 1 then (one, other) else (other, one)
      val changes = scala.util.Random(round).shuffle(all).zipWithIndex.map: (f, i) =>
        if i % 2 == 0 then FlareChange(f.id, Record.Next(grown(f, FlareState.Running)))
        else FlareChange(f.id, results = output(s"$i"))
      val written = Future(write(own, changes))(using ExecutionContext.global)
      assertEquals(next.flares.takeUnfinished().size, all.size)
      val refused = Await.result(written, 1.minute).flatMap(_.failed.toOption)
      assert(refused.forall(_.isInstanceOf[FlareTaken]), refused)
      assert(refused.isEmpty || refused.size == all.size, "the takeover split the changes")
