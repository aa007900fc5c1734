package burst.controller.http

import burst.controller.flare.LogText
import burst.controller.store.{LogExtent, LogPart, LogReader, Transfers}
import burst.protocol.{FlareId, LogStream, PackId, Timestamp}
import io.circe.parser.parse
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.stream.scaladsl.Sink
import org.apache.pekko.util.ByteString
import scala.concurrent.{Await, Future}
import scala.concurrent.duration.DurationInt

class LogAnswerSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private given system: ActorSystem[Nothing] = ActorSystem(Behaviors.empty, "log-answer")
  import system.executionContext

  override def afterAll(): Unit = system.terminate()

  private def await[A](future: Future[A]): A = Await.result(future, 1.minute)

  /** A log of `parts` parts of 1000 lines each, of which only the first `there` still exist. */
  private final class Log(parts: Int, there: Int) extends LogReader:
    val read = AtomicInteger()

    def logExtent(id: FlareId): LogExtent = LogExtent(0, parts, truncated = false)

    def logPart(id: FlareId, from: Long, until: Long): Option[LogPart] =
      read.incrementAndGet()
      val texts = Vector.tabulate(2)(worker =>
        LogText(Some(worker), PackId(0), LogStream.Stdout, Timestamp.ofMicros(from), "x\n" * 499)
      )
      Option.when(from < there)(LogPart(texts, from + 1))

  private def body(log: LogReader, worker: Option[Int] = None, from: Option[Long] = None) =
    await(LogAnswer(log, Transfers(executionContext))("guest", FlareId.random(), worker, from))
      .fold(error => fail(error.toString), _.entity.dataBytes)

  test("a log of any length is sent whole, part by part"):
    val log = Log(3, there = 3)
    val json = parse(await(body(log, Some(1)).runFold(ByteString.empty)(_ ++ _)).utf8String).toTry.get
    val lines = json.hcursor.downField("logs").values.toVector.flatten
    assertEquals(lines.length, 3 * 500)
    assertEquals(lines.map(_.hcursor.get[Long]("at").toOption.get).distinct, Vector(0L, 1L, 2L))
    assertEquals(log.read.get, 3)

  test("a client that has the beginning of a log gets the rest, and nothing before it is read"):
    def told(from: Long) =
      val log = Log(3, there = 3)
      val json =
        parse(await(body(log, from = Some(from)).runFold(ByteString.empty)(_ ++ _)).utf8String).toTry.get
      assertEquals(json.hcursor.get[Long]("next"), Right(3L))
      val lines = json.hcursor.downField("logs").values.toVector.flatten
      (lines.map(_.hcursor.get[Long]("at").toOption.get).distinct, log.read.get)
    assertEquals(told(1), (Vector(1L, 2L), 2))
    assertEquals(told(3), (Vector.empty, 0))
    assertEquals(told(Long.MaxValue), (Vector.empty, 0))

  test("parts that a client does not take are not read"):
    val log = Log(100_000, there = 100_000)
    assert(await(body(log).runWith(Sink.head)).utf8String.startsWith("""{"flareId":"""))
    assert(log.read.get < 100, log.read.get)

  test("one part is read at a time"):
    val log = Log(9, there = 9)
    // The beginning, and the first lines of the first part.
    await(body(log).take(2).runWith(Sink.ignore))
    assertEquals(log.read.get, 1)

  test("a log that is cleared meanwhile breaks off instead of ending"):
    val broken = await(body(Log(9, there = 4)).runWith(Sink.ignore).failed)
    assert(broken.getMessage.contains("cleared"), broken)
