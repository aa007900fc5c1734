package burst.invoker.pack

import burst.invoker.driver.RuntimeAddress
import burst.protocol.MessageCodecs.given
import burst.protocol.{Environment, FlareId, Inputs, JsonText, PackEvent, RunPack, Secret}
import com.github.plokhotnyuk.jsoniter_scala.core.writeToString
import io.circe.{Decoder, Json}
import io.circe.jawn.parse
import org.apache.pekko.actor.ClassicActorSystemProvider
import org.apache.pekko.http.scaladsl.Http
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.stream.scaladsl.{Source, SourceQueueWithComplete}
import org.apache.pekko.stream.OverflowStrategy
import org.apache.pekko.util.ByteString
import java.util.concurrent.{CountDownLatch, LinkedBlockingQueue, TimeUnit}
import scala.concurrent.duration.{DurationInt, DurationLong}
import scala.concurrent.{Await, Future, Promise}

/** A pack that the fake runtime was asked to run; the test decides its course. */
final class FakePack(val request: RunPack, answer: SourceQueueWithComplete[ByteString]):
  def send(events: PackEvent*): Unit = raw(events.map(writeToString(_) + "\n").mkString)
  def raw(text: String): Unit = answer.offer(ByteString(text))
  def end(): Unit = answer.complete()
  def break(): Unit = answer.fail(RuntimeException("broken on purpose"))

/** Holds back requested packs until the test releases them. */
final class Gate:
  private val arrived = CountDownLatch(1)
  private val released = Promise[Unit]()

  /** Returns once a pack is held back: a pack that is still on its way may not be held any more. */
  def reached(): Unit =
    assert(arrived.await(60, TimeUnit.SECONDS), "no pack was requested")
  def release(): Unit = released.success(())

  private[pack] def pass(): Future[Unit] =
    arrived.countDown()
    released.future

/** Speaks the runtime's HTTP on a free port and does what the test tells it. */
final class FakeRuntime(using system: ClassicActorSystemProvider):
  private given scala.concurrent.ExecutionContext = system.classicSystem.dispatcher
  private val packs = LinkedBlockingQueue[FakePack]()
  private val inits = LinkedBlockingQueue[String]()
  private val startTimeouts = LinkedBlockingQueue[Long]()
  private val programs = LinkedBlockingQueue[(Option[String], Option[String])]()
  private val environments = LinkedBlockingQueue[Environment]()
  private val orders = LinkedBlockingQueue[(String, Json)]()
  private val interpreters = LinkedBlockingQueue[String]()

  /** The answers to `/init`, alone or with `/packs`, and to `/packs` if it is not to succeed. */
  @volatile var initAnswer: Future[HttpResponse] = Future.successful(HttpResponse(entity = """{"ok":true}"""))
  @volatile var refusePacks: Option[HttpResponse] = None
  @volatile var interpreterAnswer: Future[HttpResponse] =
    Future.successful(HttpResponse(StatusCodes.Accepted))

  /** Holds back the packs that are requested. */
  @volatile var gate: Option[Gate] = None

  /** Whether packs are taken and never answered. */
  @volatile var silent = false

  private val init = (path("init") & parameter("startTimeout".as[Long]) & extractRequestEntity & entity(
    as[String]
  )): (timeout, sent, body) =>
    startTimeouts.add(timeout)
    val isPackage = sent.contentType == ContentTypes.`application/octet-stream`
    def directory = json(body).hcursor.downField("value").get[String]("path").fold(throw _, identity)
    inits.add(if isPackage then body else directory)
    complete(initAnswer)

  private val interpreter = (path("interpreter") & parameter("kind")): kind =>
    interpreters.add(kind)
    complete(interpreterAnswer)

  private val environment = (path("environment") & entity(as[String])): body =>
    environments.add(json(body).as[Environment].fold(throw _, identity))
    complete(StatusCodes.NoContent)

  private val fresh = parameters("init".?, "kind".?, "main".?, "startTimeout".as[Long].?)
  private val run = (path("packs") & fresh & entity(as[String])): (fresh, kind, main, timeout, body) =>
    fresh.foreach(inits.add)
    timeout.foreach(startTimeouts.add)
    fresh.foreach(_ => programs.add((kind, main)))
    begun(fresh, body)

  private def begun(fresh: Option[String], body: String) =
    val initialised = fresh.fold(Future.successful(HttpResponse()))(_ => initAnswer)
    if silent then complete(Promise[HttpResponse]().future)
    else
      complete(gate.fold(Future.unit)(_.pass()).flatMap(_ => initialised).map: answer =>
        if answer.status.isFailure then answer else refusePacks.getOrElse(opened(body)))

  private val ordered = (path("packs" / Segment / Segment) & entity(as[String])): (_, order, body) =>
    orders.add((order, json(body)))
    complete(StatusCodes.NoContent)

  private def json(body: String): Json = parse(body).fold(throw _, identity)

  private def opened(body: String): HttpResponse =
    val (queue, source) = Source.queue[ByteString](1000, OverflowStrategy.fail).preMaterialize()
    packs.add(FakePack(FakeRuntime.read(json(body)), queue))
    val lines = ContentType(MediaType.customWithFixedCharset("application", "x-ndjson", HttpCharsets.`UTF-8`))
    HttpResponse(entity = HttpEntity.Chunked.fromData(lines, source))

  private val binding =
    Await.result(
      Http().newServerAt("127.0.0.1", 0).bind(post(concat(init, interpreter, environment, run, ordered))),
      60.seconds
    )
  val address: RuntimeAddress = RuntimeAddress("127.0.0.1", binding.localAddress.getPort, Secret.random())

  def pack(): FakePack = next(packs)

  /** The package of the next program that is started: its path, or its bytes. */
  def started(): String = next(inits)
  def startedPrograms: Int = inits.size

  /** The start timeout of the next program, in milliseconds. */
  def startTimeout(): Long = next(startTimeouts)

  /** The variables of the next program that is started. */
  def environmentSet(): Environment = next(environments)

  /** The kind and the function of the next program that is started with a pack, if given. */
  def program(): (Option[String], Option[String]) = next(programs)
  def environmentsSet: Int = environments.size

  /** The kind of the next interpreter that is started ahead. */
  def interpreterStarted(): String = next(interpreters)
  def interpretersStarted: Int = interpreters.size

  /** The next `start` or `abort`. */
  def order(): (String, Json) = next(orders)
  def close(): Unit = Await.ready(binding.terminate(1.second), 60.seconds)

  private def next[A](queue: LinkedBlockingQueue[A]): A =
    Option(queue.poll(60, TimeUnit.SECONDS)).getOrElse(munit.Assertions.fail("the runtime got no request"))

object FakeRuntime:
  /** Parses a body as the runtime does. */
  private def read(body: Json): RunPack =
    val fields = body.hcursor
    def field[A: Decoder](name: String): A = fields.get[A](name).fold(throw _, identity)
    val inputs = fields.downField("inputs")
    RunPack(
      field("flareId"),
      field("pack"),
      field("packSizes"),
      inputs
        .get[Json]("shared")
        .map(value => Inputs.Shared(JsonText.of(value)))
        .orElse(inputs.get[Vector[Json]]("each").map(values => Inputs.Each(values.map(JsonText.of))))
        .fold(throw _, identity),
      field("backend"),
      field("secret"),
      field("advertise"),
      field("deadline"),
      field[Option[FlareId]]("group"),
      field("autostart"),
      field[Option[Long]]("lease").map(_.millis),
      field[Option[Long]]("memory"),
      field("invocation"),
      logLimit = field[Option[Long]]("logLimit")
    )
