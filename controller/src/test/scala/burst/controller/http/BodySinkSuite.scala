package burst.controller.http

import munit.FunSuite
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.Await
import scala.concurrent.duration.{DurationInt, FiniteDuration}

class BodySinkSuite extends FunSuite:
  private given system: ActorSystem = ActorSystem("body-sink")

  override def afterAll(): Unit =
    val _ = Await.result(system.terminate(), 10.seconds)

  private val piece = ByteString("x" * 100)

  /** Lets each piece be followed by a pause. */
  private final class Paced(pause: Int => FiniteDuration) extends BodyBudget.Share:
    @volatile var taken = 0
    def take(bytes: Long): Option[FiniteDuration] =
      taken += 1
      Some(pause(taken))

  private def read(share: BodyBudget.Share, pieces: Int, times: BodyTimes): Either[ApiError, ByteString] =
    Await.result(Source.repeat(piece).take(pieces).runWith(BodySink(10_000, times, share)), 10.seconds)

  test("a body that is read slowly on purpose is not its client's fault"):
    val share = Paced(_ => 30.millis)
    val body = read(share, 5, BodyTimes(overall = 10.seconds, least = 1_000_000, pace = 20.millis))
    assertEquals(body.map(_.length), Right(500))

  test("nothing is read during a pause"):
    val share = Paced(taken => if taken < 3 then 0.seconds else 1.hour)
    val body = read(share, 5, BodyTimes(overall = 500.millis, least = 0, pace = 1.hour))
    assertEquals(body, Left(ApiError.BodyTooSlow))
    assertEquals(share.taken, 3)
