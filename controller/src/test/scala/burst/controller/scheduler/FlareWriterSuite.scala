package burst.controller.scheduler

import burst.controller.blob.{BlobName, BlobStoreException, FlareBlobStore}
import burst.controller.flare.{FlareState, LogText, Output, OutputPiece, WorkerResult}
import burst.controller.store.{logTexts, LogChunk}
import burst.protocol.{FlareId, LogStream, PackId, Timestamp}
import java.nio.file.Files
import munit.FunSuite
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext

class FlareWriterSuite extends FunSuite:
  private val flare = AdmissionControl.accept(Samples.request(1), Timestamp.Epoch)
  private def line(n: Int) =
    LogText(Some(0), PackId(0), LogStream.Stdout, Timestamp.ofMicros(n), f"line $n%3d")

  /** A store thread that runs on demand, and the outcomes it reported. */
  private final class Bench(
      mayLog: Long => Boolean = _ => true,
      logBuffer: Long = Samples.settings.logBuffer,
      spool: Spool = Samples.spool
  ):
    val store = MemoryFlareStore()
    private var jobs = Vector.empty[Runnable]
    private var gatherings = Vector.empty[Runnable]
    var told: Vector[Written] = Vector.empty

    /** The packs that may send more output. */
    var answered: Set[PackId] = Set.empty
    private val thread = ExecutionContext.fromExecutor(job => jobs :+= job)
    private val gatherer = ExecutionContext.fromExecutor(job => gatherings :+= job)
    val writer: FlareWriter =
      FlareWriter(
        store,
        spool,
        flare.id,
        alreadyStored = false,
        Samples.settings.copy(logBuffer = logBuffer),
        mayLog,
        thread,
        thread,
        gatherer,
        w => told :+= w
      )

    /** Runs the pending jobs of the spool's threads, and counts how often they wrote something. */
    def gather(): Int =
      var count = 0
      while gatherings.nonEmpty || told.exists(_.isInstanceOf[Written.Gathered]) do
        val now = gatherings
        gatherings = Vector.empty
        now.foreach(_.run())
        count += now.length
        val (gathered, others) = told.partition(_.isInstanceOf[Written.Gathered])
        told = others
        gathered.foreach(hear)
      count

    def run(): Unit =
      val _ = gather()
      while jobs.nonEmpty do
        val now = jobs
        jobs = Vector.empty
        now.foreach(_.run())
      val news = told
      told = Vector.empty
      news.foreach(hear)

    private def hear(written: Written): Unit =
      answered ++= writer.finished(written)
      writer.flushIfAwaited()

    /** The number of pending jobs of the database's threads. */
    def writing: Int = jobs.length

  test("changes during a write lead to one more write, of the last record"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.flush()
    for state <- Vector(FlareState.Starting, FlareState.Running, FlareState.Running) do
      bench.writer.save(flare.copy(state = state))
      bench.writer.flush()
    bench.run()
    bench.run()
    bench.run()
    assertEquals(bench.store.writes, Vector("insert Queued", "update Running"))

  test("a large part of a log is stored beside the database, and a full log takes no more"):
    val bench = Bench(logBuffer = 1 << 20)
    val large = LogText(Some(0), PackId(0), LogStream.Stdout, Timestamp.Epoch, "x" * 70_000)
    bench.writer.confirm(flare)
    bench.writer.logs(Vector(line(1)))
    bench.writer.flush()
    bench.run()
    bench.store.fails = _ == "addLogs"
    bench.writer.logs(Vector(large))
    bench.writer.flush()
    bench.run()
    bench.store.fails = _ => false
    bench.store.logRoom = false
    bench.writer.flush()
    bench.run()
    bench.writer.logs(Vector(large))
    bench.writer.flush()
    bench.run()
    val parts = bench.store.besides.map(name => LogChunk.decode(Samples.blobs.load(flare.id, name).toArray))
    assertEquals(parts, Vector(Vector(large)))
    assertEquals(bench.store.writes, Vector("insert Queued", "logs", "logs"))

  test("logs beyond the buffer are dropped, and the log reports how many"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.logs((1 to 90).map(line).toVector)
    bench.writer.logs((91 to 250).map(line).toVector)
    bench.writer.flush()
    bench.run()
    val stored = bench.store.logTexts(flare.id)
    assertEquals(stored.length, 101)
    assert(stored.last.text.contains("150 lines were left out"))
    bench.writer.logs(Vector(line(1)))
    bench.writer.flush()
    bench.run()
    assertEquals(bench.store.logTexts(flare.id).last, line(1))

  test("empty lines fill the buffer, too"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.logs(Vector.fill(1000)(line(1).copy(text = "\n" * 9)))
    bench.writer.flush()
    bench.run()
    assert(bench.store.logTexts(flare.id).length < 20)

  test("while the store fails, waiting logs stay within the buffer"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    bench.store.fails = _ == "addLogs"
    for _ <- 1 to 5 do
      bench.writer.logs((1 to 60).map(line).toVector)
      bench.writer.flush()
      bench.run()
    bench.store.fails = _ => false
    bench.writer.flush()
    bench.run()
    val stored = bench.store.logTexts(flare.id)
    assert(stored.length <= 105, stored.length)
    assertEquals(stored.take(60), (1 to 60).map(line).toVector)

  test("lines over the namespace's rate are dropped, and the log reports it even if nothing else is stored"):
    val bench = Bench(_ => false)
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    bench.writer.logs(Vector(line(1).copy(text = "a\nb")))
    bench.writer.flush()
    bench.run()
    assert(bench.store.logTexts(flare.id).map(_.text).mkString.contains("2 lines were left out"))

  test("a failed write is repeated as a whole, and nothing is stored twice"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    bench.store.fails = _ == "update"
    bench.writer.results(Vector(WorkerResult(0, None, None)))
    bench.writer.logs(Vector(line(1)))
    bench.writer.confirm(flare.copy(state = FlareState.Succeeded))
    bench.writer.flush()
    bench.run()
    assertEquals(bench.store.writes, Vector("insert Queued"))
    bench.store.fails = _ => false
    bench.writer.flush()
    bench.run()
    assertEquals(bench.store.writes, Vector("insert Queued", "results", "logs", "update Succeeded"))

  test("an output is complete even if its last part was stored at the second try"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.outputs(Vector(OutputPiece(0, 0, ByteString("begun, "))))
    bench.writer.flush()
    bench.run()
    bench.store.fails = _ == "addResults"
    bench.writer.outputs(Vector(OutputPiece(0, 7, ByteString("ended"))))
    bench.writer.results(Vector(WorkerResult(0, Some(Output.OutOfLine(12)), None)))
    bench.writer.flush()
    bench.run()
    bench.store.fails = _ => false
    bench.writer.flush()
    bench.run()
    assertEquals(Samples.blobs.load(flare.id, BlobName.output(0)).utf8String, "begun, ended")

  private def piece(offset: Long, text: String) = OutputPiece(0, offset, ByteString(text))

  test("a pack may send more once its outputs are gathered, even while the database is busy"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.writer.confirm(flare.copy(state = FlareState.Starting))
    bench.writer.outputs(Vector(piece(0, "begun, ")))
    bench.writer.awaited(PackId(0))
    bench.writer.flushIfAwaited()
    assertEquals((bench.gather(), bench.answered), (1, Set(PackId(0))))
    // Still only one batch at a time.
    assertEquals(bench.writing, 1)
    bench.run()
    bench.run()
    assertEquals(bench.store.writes, Vector("insert Queued", "update Starting"))
    // The same holds during the pause after a failed write.
    bench.store.fails = _ == "update"
    bench.writer.save(flare)
    bench.writer.flush()
    bench.run()
    bench.answered = Set.empty
    bench.writer.outputs(Vector(piece(7, "ended")))
    bench.writer.awaited(PackId(0))
    bench.writer.flushIfAwaited()
    assertEquals((bench.gather(), bench.answered), (1, Set(PackId(0))))
    assertEquals(bench.writing, 0)
    bench.store.fails = _ => false
    bench.writer.results(Vector(WorkerResult(0, Some(Output.OutOfLine(12)), None)))
    bench.writer.flush()
    bench.run()
    assertEquals(Samples.blobs.load(flare.id, BlobName.output(0)).utf8String, "begun, ended")

  test("output runs ahead of the database up to a limit, and then waits for it"):
    val bench = Bench()
    val large = ByteString.fromArrayUnsafe(Array.fill((FlareWriter.MostAhead / 2).toInt)('x'.toByte))
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    bench.store.fails = _ == "addResults"
    for (worker, isAhead) <- Vector(0 -> true, 1 -> true, 2 -> false) do
      bench.answered = Set.empty
      bench.writer.outputs(Vector(OutputPiece(worker, 0, large)))
      bench.writer.results(Vector(WorkerResult(worker, Some(Output.OutOfLine(large.length)), None)))
      bench.writer.awaited(PackId(worker))
      bench.writer.flushIfAwaited()
      bench.run()
      assertEquals(bench.answered, if isAhead then Set(PackId(worker)) else Set.empty)
    bench.store.fails = _ => false
    bench.writer.flush()
    bench.run()
    assertEquals(bench.answered, Set(PackId(2)))
    bench.writer.outputs(Vector(OutputPiece(3, 0, large)))
    bench.writer.awaited(PackId(3))
    bench.writer.flushIfAwaited()
    assertEquals((bench.gather(), bench.answered), (1, Set(PackId(2), PackId(3))))

  test(
    "outputs that cannot be gathered are retried with the next write, and no result is stored before"
  ):
    val directory = Files.createTempDirectory("burst-spool")
    val bench = Bench(spool = Spool.open(directory, Samples.blobs))
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    val inTheWay = Files.createFile(directory.resolve(flare.id.value))
    bench.writer.outputs(Vector(piece(0, "whole")))
    bench.writer.awaited(PackId(0))
    bench.writer.flushIfAwaited()
    // Tried once more together with the write, and then not before that is retried.
    assertEquals(bench.gather(), 2)
    bench.run()
    bench.writer.results(Vector(WorkerResult(0, Some(Output.OutOfLine(5)), None)))
    bench.writer.flushIfAwaited()
    assertEquals((bench.gather(), bench.writing, bench.answered), (0, 0, Set.empty[PackId]))
    bench.writer.flush()
    assertEquals((bench.gather(), bench.writing), (1, 0))
    bench.run()
    assert(!bench.store.writes.contains("results"), bench.store.writes)
    Files.delete(inTheWay)
    bench.writer.flush()
    bench.run()
    assertEquals(bench.answered, Set(PackId(0)))
    bench.run()
    assertEquals(Samples.blobs.load(flare.id, BlobName.output(0)).utf8String, "whole")

  test("output of an attempt is in no file of the next one, even if it was on its way"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    bench.writer.outputs(Vector(piece(0, "old and long")))
    bench.writer.awaited(PackId(0))
    bench.writer.flushIfAwaited()
    bench.writer.outputs(Vector(piece(12, ", and more")))
    bench.writer.clear()
    bench.writer.confirm(flare.copy(attempt = 2))
    bench.writer.flush()
    // The pieces on their way arrive before the file is deleted.
    assertEquals(bench.writing, 0)
    bench.run()
    assertEquals(bench.answered, Set.empty[PackId])
    bench.writer.outputs(Vector(piece(0, "new")))
    bench.writer.results(Vector(WorkerResult(0, Some(Output.OutOfLine(3)), None)))
    bench.writer.flush()
    bench.run()
    assertEquals(Samples.blobs.load(flare.id, BlobName.output(0)).utf8String, "new")

  test("the outputs of an abandoned flare are removed from the spool"):
    val spool = Files.createTempDirectory("burst-spool")
    val bench = Bench(spool = Spool.open(spool, Samples.blobs))
    val gathered = spool.resolve(flare.id.value)
    bench.writer.confirm(flare)
    bench.writer.outputs(Vector(OutputPiece(0, 0, ByteString("half"))))
    bench.writer.flush()
    bench.run()
    assert(Files.exists(gathered))
    bench.writer.giveUp()
    bench.run()
    assert(!Files.exists(gathered))
    Files.delete(spool)

  test("incomplete outputs are deleted before the flare's end is stored, which may need the room"):
    val spool = Files.createTempDirectory("burst-spool")
    val bench = Bench(spool = Spool.open(spool, Samples.blobs))
    bench.writer.confirm(flare)
    bench.writer.outputs(Vector(piece(0, "half")))
    bench.writer.flush()
    bench.run()
    bench.store.fails = _ == "update"
    bench.writer.confirm(flare.copy(state = FlareState.Failed))
    bench.writer.flush()
    bench.run()
    assert(!Files.exists(spool.resolve(flare.id.value)))
    bench.store.fails = _ => false
    bench.writer.flush()
    bench.run()
    assertEquals(bench.store.writes, Vector("insert Queued", "update Failed"))
    Files.delete(spool)

  test("clearing an attempt discards its data that was not stored yet"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    bench.writer.logs(Vector(line(1)))
    bench.writer.clear()
    bench.writer.save(flare.copy(attempt = 2))
    bench.writer.logs(Vector(line(2)))
    bench.writer.flush()
    bench.run()
    assertEquals(bench.store.writes, Vector("insert Queued", "clear", "logs", "update Queued"))
    assertEquals(bench.store.logTexts(flare.id), Vector(line(2)))

  test("a flare that could not be stored before its attempt was cleared is stored afterwards"):
    val bench = Bench()
    bench.store.fails = _ == "insert"
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.writer.clear()
    bench.run()
    bench.store.fails = _ => false
    bench.writer.flush()
    bench.run()
    assertEquals(bench.store.find(flare.id), Some(flare))

  test("a writer that no longer owns a flare deletes nothing of it"):
    val bench = Bench()
    val name = BlobName.output(0)
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    Samples.spool.write(flare.id, Vector(OutputPiece(0, 0, ByteString("the successor's"))))
    Samples.spool.keep(flare.id, 0, Output.OutOfLine(15))
    bench.store.taken = true
    bench.writer.clear()
    bench.writer.flush()
    bench.run()
    assertEquals(Samples.blobs.load(flare.id, name).utf8String, "the successor's")
    bench.store.taken = false
    bench.writer.flush()
    bench.run()
    intercept[java.nio.file.NoSuchFileException](Samples.blobs.load(flare.id, name))

  test("a failed deletion is repeated only while the flare is still ours"):
    object failing extends FlareBlobStore:
      var fails = true
      export Samples.blobs.{close as _, delete as _, read as _, *}
      def delete(id: FlareId, keep: Set[BlobName]): Unit =
        if fails then throw BlobStoreException("deleting blobs", RuntimeException("no answer"))
        Samples.blobs.delete(id, keep)
      def delete(id: FlareId, name: BlobName): Unit = Samples.blobs.delete(id, name)
    val root = Files.createTempDirectory("burst-spool")
    val bench = Bench(spool = Spool.open(root, failing))
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    bench.writer.clear()
    bench.writer.flush()
    bench.run()
    failing.fails = false
    bench.store.taken = true
    Samples.spool.write(flare.id, Vector(OutputPiece(0, 0, ByteString("the successor's"))))
    Samples.spool.keep(flare.id, 0, Output.OutOfLine(15))
    bench.writer.flush()
    bench.run()
    assertEquals(Samples.blobs.load(flare.id, BlobName.output(0)).utf8String, "the successor's")
    Files.delete(root)

  test("a large log is stored beside the database in parts that are not read all at once"):
    val bench = Bench(logBuffer = 2 << 20)
    bench.writer.confirm(flare)
    val texts =
      Vector.tabulate(100)(at =>
        LogText(Some(0), PackId(0), LogStream.Stdout, Timestamp.ofMicros(at), "x" * 10_000)
      )
    bench.writer.logs(texts)
    bench.writer.flush()
    bench.run()
    val parts = bench.store.besides.map(Samples.blobs.load(flare.id, _))
    assertEquals(parts.flatMap(part => LogChunk.decode(part.toArray)), texts)
    assert(parts.forall(_.length <= LogChunk.Part), parts.map(_.length))
