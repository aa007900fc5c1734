package burst.controller.http

import burst.controller.limits.ByteRateLimiter
import munit.FunSuite
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpRequest}
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.concurrent.{Await, Future, Promise}

class BodySinkSuite extends FunSuite:
  override def munitTimeout = 3.minutes
  private given system: ActorSystem = ActorSystem("body-sink")

  override def afterAll(): Unit =
    val _ = Await.result(system.terminate(), 60.seconds)

  private val piece = ByteString("x" * 100)

  private def read(times: BodyTimes, pause: FiniteDuration, seen: () => Unit): Either[ApiError, ByteString] =
    val body = Source.fromIterator(() => Iterator.fill(5) { seen(); piece })
    Await.result(body.runWith(BodySink(10_000, times, BodyBudget.Free, pause)), 60.seconds)

  test("the time before a body is read does not count against its client"):
    val times = BodyTimes(overall = 20.millis, least = 1_000_000, within = 20.millis)
    assertEquals(read(times, pause = 200.millis, () => ()).map(_.length), Right(500))

  test("nothing of a body is held before it is read"):
    @volatile var asked = 0
    val budget = BodyBudget(1000, 1000, Some(ByteRateLimiter(rate = 1, burst = 100)))
    val times = BodyTimes(overall = 10.seconds, least = 0, within = 1.hour)
    val first = budget.within("a")(share => Future.successful(share.announce(100)))
    assertEquals(Await.result(first, 20.seconds), Some(Duration.Zero))
    // The body never arrives, so what it announced is given back.
    val second = budget.within("a")(share => Future.successful(share.announce(3700)))
    val pause = Await.result(second, 20.seconds).getOrElse(fail("the announcement was refused"))
    assert(pause > 30.minutes, pause)
    val waiting = Source
      .fromIterator(() => Iterator.fill(5) { asked += 1; piece })
      .runWith(BodySink(10_000, times, BodyBudget.Free, pause))
    assertEquals(read(times, Duration.Zero, () => ()).map(_.length), Right(500))
    assert(!waiting.isCompleted)
    assert(asked <= 1, asked)

  test("a refused body does not count against the rate"):
    val budget = BodyBudget(10, 10, Some(ByteRateLimiter(rate = 1, burst = 1000)))
    def announce(bytes: Long, takes: Long) =
      Await.result(
        budget.within("a"): share =>
          Future.successful((share.announce(bytes), share.take(takes))),
        20.seconds
      )
    assertEquals(announce(1000, takes = 100), (Some(Duration.Zero), false))
    assertEquals(announce(1000, takes = 10), (Some(Duration.Zero), true))

  private val json = ContentTypes.`application/json`

  /** Begins to read a body of `length` bytes, none of which arrives. */
  private def absent(budget: BodyBudget, namespace: String, length: Long, time: FiniteDuration) =
    val body = RequestBody(BodyTimes(time, 0, 1.hour), JsonLimits(10, 10, 10))
    val request = HttpRequest(entity = HttpEntity(json, length, Source.maybe[ByteString]))
    budget.within(namespace)(share => body.read(request, length, share))

  test("a body that does not arrive in time is charged the length it declared"):
    val budget = BodyBudget(1000, 1000, Some(ByteRateLimiter(rate = 1, burst = 1000)))
    assertEquals(Await.result(absent(budget, "a", 1000, 20.millis), 60.seconds), Left(ApiError.BodyTooSlow))
    val pause = Await.result(budget.within("a")(share => Future.successful(share.announce(100))), 20.seconds)
    assert(pause.exists(_ > 90.seconds), pause)

  test("a body waits for memory as long as it may take to arrive, and is then refused at no cost"):
    val budget = BodyBudget(1000, 1000, Some(ByteRateLimiter(rate = 1, burst = 1000)))
    val (granted, ended) = (Promise[Unit](), Promise[Unit]())
    val holder = budget.within("a"): share =>
      granted.completeWith(share.reserve(600))
      ended.future
    Await.result(granted.future, 20.seconds)
    assertEquals(Await.result(absent(budget, "b", 600, 20.millis), 60.seconds), Left(ApiError.Busy))
    val pause = Await.result(budget.within("b")(share => Future.successful(share.announce(1000))), 20.seconds)
    assertEquals(pause, Some(Duration.Zero))
    assert(!holder.isCompleted)
    ended.success(())

  test("a body that arrived byte by byte is held in few pieces"):
    val drops = Source.fromIterator(() => Iterator.tabulate(100_000)(i => ByteString(i.toByte)))
    val times = BodyTimes(overall = 1.minute, least = 0, within = 1.hour)
    val body =
      Await.result(drops.runWith(BodySink(200_000, times)), 1.minute).fold(e => fail(e.toString), identity)
    assert(body.asByteBuffers.size < 20, body.asByteBuffers.size)
    assertEquals(body, ByteString(Array.tabulate(100_000)(_.toByte)))

  test("a body that has already arrived waits for its namespace's rate as others do"):
    val body = RequestBody(BodyTimes(10.seconds, 0, 1.hour), JsonLimits(10, 10, 10))
    val request = HttpRequest(entity = HttpEntity(json, ByteString("x" * 100)))
    val budget = BodyBudget(1000, 1000, Some(ByteRateLimiter(rate = 1, burst = 100)))
    // The share is given back before the result is looked at.
    def read() = budget.within("a")(share => Future.successful(Vector(body.read(request, 1000, share))))
    assertEquals(Await.result(read(), 20.seconds).head.value.map(_.isSuccess), Some(true))
    assertEquals(Await.result(read(), 20.seconds).head.value, None)

  test("bodies of unknown length are charged their actual size, not the largest possible"):
    val body = RequestBody(BodyTimes(10.seconds, 0, 1.hour), JsonLimits(10, 10, 10))
    val budget = BodyBudget(10_000, 10_000, Some(ByteRateLimiter(rate = 1, burst = 1000)))
    def read(bytes: Int) =
      val pieces = Source(Vector.fill(bytes / 100)(ByteString("x" * 100)))
      val request = HttpRequest(entity = HttpEntity.Chunked.fromData(json, pieces))
      budget.within("a")(share => body.read(request, 1000, share))
    val small = Vector.fill(7)(read(100))
    small.foreach(taken => assertEquals(Await.result(taken, 20.seconds).map(_.length), Right(100)))
    assertEquals(Await.result(read(1000), 20.seconds).map(_.length), Right(1000))
    // 700 bytes more than a burst arrived.
    val pause = Await.result(budget.within("a")(share => Future.successful(share.announce(0))), 20.seconds)
    assert(pause.exists(pause => pause > 600.seconds && pause <= 700.seconds), pause)
