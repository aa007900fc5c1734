package burst.controller.scheduler

import burst.controller.blob.{BlobName, BlobStoreException, FlareBlobStore}
import burst.controller.flare.{FlareState, LogText, Output, OutputPiece, WorkerResult}
import burst.controller.store.{logTexts, LogChunk}
import burst.protocol.{FlareId, LogStream}
import java.nio.file.Files
import munit.FunSuite
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext

class FlareWriterSuite extends FunSuite:
  private val flare = AdmissionControl.accept(Samples.request(1), 0)
  private def line(n: Int) = LogText(Some(0), 0, LogStream.Stdout, n, f"line $n%3d")

  /** A store thread that runs when told to, and what was told of its writes. */
  private final class Bench(
      mayLog: Long => Boolean = _ => true,
      logBuffer: Long = Samples.settings.logBuffer,
      spool: Spool = Samples.spool
  ):
    val store = MemoryFlareStore()
    private var jobs = Vector.empty[Runnable]
    var told: Vector[Written] = Vector.empty
    private val thread = ExecutionContext.fromExecutor(job => jobs :+= job)
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
        w => told :+= w
      )

    def run(): Unit =
      while jobs.nonEmpty do
        val now = jobs
        jobs = Vector.empty
        now.foreach(_.run())
      val news = told
      told = Vector.empty
      news.foreach { written =>
        writer.finished(written)
        writer.flushIfAwaited()
      }

  test("what comes while a write is under way makes one more, of the last record"):
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

  test("a large part of a log stands beside the database, and nothing more is written of one that is full"):
    val bench = Bench(logBuffer = 1 << 20)
    val large = LogText(Some(0), 0, LogStream.Stdout, 0, "x" * 70_000)
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

  test("logs beyond the buffer are dropped, and the log says how many"):
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

  test("lines of nothing fill the buffer, too"):
    val bench = Bench()
    bench.writer.confirm(flare)
    bench.writer.logs(Vector.fill(1000)(line(1).copy(text = "\n" * 9)))
    bench.writer.flush()
    bench.run()
    assert(bench.store.logTexts(flare.id).length < 20)

  test("while the store fails no more logs wait than the buffer holds"):
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

  test("what the namespace may not write now is dropped, and said though nothing else is to be stored"):
    val bench = Bench(_ => false)
    bench.writer.confirm(flare)
    bench.writer.flush()
    bench.run()
    bench.writer.logs(Vector(line(1).copy(text = "a\nb")))
    bench.writer.flush()
    bench.run()
    assert(bench.store.logTexts(flare.id).map(_.text).mkString.contains("2 lines were left out"))

  test("a write that fails is made again as a whole, with nothing twice"):
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

  test("an output is whole though its last part was stored at the second try"):
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

  test("of a flare that is given up on no outputs stay in the spool"):
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

  test("a cleared attempt takes what of it was not stored along"):
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

  test("a flare that could not be stored before its attempt was cleared is stored after"):
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

  test("who does not own a flare any more deletes nothing of it"):
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

  test("what could not be deleted is only deleted while the flare is still ours"):
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

  test("a large log stands beside the database in parts that are not read all at once"):
    val bench = Bench(logBuffer = 2 << 20)
    bench.writer.confirm(flare)
    val texts = Vector.tabulate(100)(at => LogText(Some(0), 0, LogStream.Stdout, at, "x" * 10_000))
    bench.writer.logs(texts)
    bench.writer.flush()
    bench.run()
    val parts = bench.store.besides.map(Samples.blobs.load(flare.id, _))
    assertEquals(parts.flatMap(part => LogChunk.decode(part.toArray)), texts)
    assert(parts.forall(_.length <= LogChunk.Part), parts.map(_.length))
