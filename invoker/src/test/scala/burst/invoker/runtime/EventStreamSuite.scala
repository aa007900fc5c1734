package burst.invoker.runtime

import burst.protocol.PackEvent
import java.util.concurrent.Flow.{Publisher, Subscriber, Subscription}
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext.parasitic
import scala.concurrent.{ExecutionContext, Future, Promise}

class EventStreamSuite extends munit.FunSuite:
  private given ExecutionContext = parasitic

  /** A body whose bytes a test sends. */
  private final class Body extends Publisher[ByteString], Subscription:
    private var subscriber: Subscriber[? >: ByteString] | Null = null
    var requested = 0L
    var cancelled = false
    def subscribe(own: Subscriber[? >: ByteString]): Unit =
      subscriber = own
      own.onSubscribe(this)
    def request(n: Long): Unit = requested += n
    def cancel(): Unit = cancelled = true
    private def to(send: Subscriber[? >: ByteString] => Unit) = subscriber match
      case null => fail("no one has subscribed")
      case known => send(known)
    def send(texts: String*): Unit =
      assert(requested > 0, "more than was requested")
      requested -= 1
      to(_.onNext(ByteString(texts.mkString)))
    def end(): Unit = to(_.onComplete())
    def break(problem: Throwable): Unit = to(_.onError(problem))

  private def event(line: ByteString): PackEvent = PackEvent.Output(0, line.utf8String)
  private def stream(body: Body, maxBatch: Long = 4) = EventStream(body, 10, maxBatch, _ => 1, event)
  private def texts(events: Vector[PackEvent]) = events.collect { case PackEvent.Output(_, text) => text }

  test("lines are passed on as soon as they are complete, and the end after all of them"):
    val body = Body()
    var taken = Vector.empty[Vector[String]]
    val ended = stream(body).foreach(events => Future.successful(taken :+= texts(events)))
    body.send("a\nb", "b\nc")
    body.send("c\n")
    assertEquals(taken, Vector(Vector("a", "bb"), Vector("cc")))
    assert(!ended.isCompleted)
    body.end()
    assertEquals(ended.value.map(_.isSuccess), Some(true))

  test("lines that arrive while others are passed on form a batch, and demand stays within the limit"):
    val body = Body()
    var taken = Vector.empty[(Vector[String], Promise[Unit])]
    val ended = stream(body, maxBatch = 3).foreach: events =>
      val passed = Promise[Unit]()
      taken :+= texts(events) -> passed
      passed.future
    body.send("1\n")
    for text <- Vector("2\n", "3\n", "4\n") do body.send(text)
    assertEquals(body.requested, 0L, "three lines wait")
    taken.last._2.success(())
    assertEquals(taken.map(_._1), Vector(Vector("1"), Vector("2", "3", "4")))
    assertEquals(body.requested, 1L)
    body.send("5\n")
    body.end()
    assert(!ended.isCompleted)
    taken.last._2.success(())
    assert(!ended.isCompleted)
    taken.last._2.success(())
    assertEquals(taken.last._1, Vector("5"))
    assert(ended.isCompleted)

  test("a large chunk is read by other threads, in order and before the end"):
    val held = scala.collection.mutable.Queue.empty[Runnable]
    given ExecutionContext = new ExecutionContext:
      def execute(work: Runnable): Unit = held += work
      def reportFailure(cause: Throwable): Unit = ()
    val body = Body()
    var taken = Vector.empty[String]
    val ended = EventStream(body, 10, 1L << 20, _ => 1, event).foreach(events =>
      Future.successful(taken ++= texts(events))
    )
    body.send("a\n" * 5000)
    body.end()
    assertEquals((taken, body.requested, ended.isCompleted), (Vector.empty, 0L, false))
    held.dequeue().run()
    assertEquals(taken.size, 5000)
    assert(ended.isCompleted)

  test("the stream fails if no other thread takes a large chunk"):
    given ExecutionContext = new ExecutionContext:
      def execute(work: Runnable): Unit = throw java.util.concurrent.RejectedExecutionException("closed")
      def reportFailure(cause: Throwable): Unit = ()
    val body = Body()
    val ended = stream(body).foreach(_ => Future.unit)
    body.send("a\n" * 5000)
    assertEquals(ended.value.flatMap(_.failed.toOption).map(_.getMessage), Some("closed"))
    assert(body.cancelled)

  test("the stream fails with an overlong or unreadable line, its connection or its consumer"):
    def failing(
        run: (Body, Future[Unit]) => Unit,
        take: Vector[PackEvent] => Future[Unit] = _ => Future.unit
    ) =
      val body = Body()
      val ended = EventStream(
        body,
        10,
        4,
        _ => 1,
        line => if line.utf8String == "?" then throw BrokenStream(StreamProblem.NotAnEvent) else event(line)
      ).foreach(take)
      run(body, ended)
      (ended.value.flatMap(_.failed.toOption).map(_.getMessage), body.cancelled)
    assertEquals(
      failing((body, _) => body.send("0123456789a")),
      (Some("an event has more than 10 bytes"), true)
    )
    assertEquals(
      failing((body, _) => body.send("?\n")),
      (Some("the runtime sent what is not an event"), true)
    )
    assertEquals(failing((body, _) => body.break(RuntimeException("gone"))), (Some("gone"), false))
    val refusing = (_: Vector[PackEvent]) => Future.failed(RuntimeException("no"))
    assertEquals(failing((body, _) => body.send("a\n"), refusing), (Some("no"), true))

  test("a cancelled reader receives no more, and the connection is cancelled"):
    for early <- Vector(true, false) do
      val body = Body()
      val events = stream(body)
      if early then events.cancel()
      val ended = events.foreach(_ => Future.unit)
      if !early then events.cancel()
      assert(body.cancelled)
      assertEquals(ended.value.flatMap(_.failed.toOption), Some(EventStream.Cancelled))

  test("cancelling a stream that has ended changes nothing"):
    val body = Body()
    val events = stream(body)
    val ended = events.foreach(_ => Future.unit)
    body.end()
    events.cancel()
    assertEquals((ended.value.map(_.isSuccess), body.cancelled), (Some(true), false))
