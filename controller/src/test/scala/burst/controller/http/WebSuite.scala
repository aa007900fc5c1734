package burst.controller.http

import burst.controller.action.*
import burst.controller.http.connection.{Listener, Listening}
import burst.controller.limits.{OwnLimits, PlatformLimits}
import burst.controller.store.{Blocking, Identity, Issued, Namespace, NamespaceStore, Samples}
import burst.protocol.{FlareId, Timestamp}
import com.typesafe.config.{Config, ConfigFactory}
import io.circe.parser.parse
import io.circe.{Json, JsonObject}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Base64
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicReference
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future, Promise}
import scala.util.Using

/** Web actions on a port of their own, with scripted actions. */
abstract class WebSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes

  /** Settings that differ from the defaults. */
  def settings: String = ""

  protected lazy val config: Config = ConfigFactory
    .parseString("pekko.coordinated-shutdown.exit-jvm = off")
    .withFallback(ConfigFactory.parseString(settings))
    .withFallback(ConfigFactory.load())
  private lazy val kit: ActorTestKit = ActorTestKit(config)
  given system: ActorSystem[?] = kit.system
  given ExecutionContext = system.executionContext

  protected val uuid: String = "0f8fad5b-d9cb-469f-a165-70867728950e"
  protected val key: String = "k".repeat(64)
  protected val actions: FakeActions = FakeActions()
  protected val invocations: FakeInvocations = FakeInvocations()
  protected lazy val http: HttpSettings = HttpSettings.from(config)
  protected lazy val blocking: Blocking = Blocking(summon[ExecutionContext])
  protected lazy val namespaces: NamespaceStore =
    FakeNamespaces(PlatformLimits.from(config).namespace, (uuid, key))
  protected lazy val body: RequestBody =
    RequestBody(http.bodyTimes, http.json.copy(values = http.web.jsonValues))
  protected lazy val authentication: Authentication =
    Authentication(namespaces, None, FailedLogins(http.failedLoginsPerMinute, RateLimiter()), blocking)
  protected lazy val call: WebCall =
    val threads = system.dispatchers.lookup(DispatcherSelector.fromConfig(HttpSettings.WebDispatcher))
    val intake = BodyIntake(body, http.web.bodies, FairExecutor(threads), blocking)
    WebCall(
      actions,
      invocations,
      namespaces,
      authentication,
      intake,
      body,
      http.web,
      http.blockingLimit,
      blocking
    )

  /** The route that is served. */
  protected def served: Route = pathPrefix("api" / "v1")(WebActionsRoutes(call).route)

  private lazy val listening: Listening =
    val route = RequestId.directive(http.bodyTimes):
      handleExceptions(Routes.unexpected)(handleRejections(Routes.rejected)(served))
    Await.result(
      Listener(http.connections, http.server, None).bind("127.0.0.1", 0)(Route.toFunction(route)),
      30.seconds
    )

  protected def port: Int = listening.localAddress.getPort

  override def beforeEach(context: BeforeEach): Unit = invocations.reset()

  override def afterAll(): Unit =
    Await.result(listening.terminate(1.second), 30.seconds)
    kit.shutdownTestKit()

  protected def json(text: String): Json = parse(text).getOrElse(throw IllegalArgumentException(text))

  protected def fields(text: String): JsonObject = json(text).asObject.getOrElse(JsonObject.empty)

  /** Adds an action that anybody may call, with further annotations and parameters. */
  protected def exported(name: String, annotations: String = "{}", parameters: String = "{}"): Unit =
    actions.add(name, fields(annotations).add("web-export", Json.True), fields(parameters))

  /** Sends a request exactly as given and checks what every reply must satisfy. */
  protected def ask(method: String, path: String, headers: Seq[String] = Seq.empty, body: String = "")(using
      munit.Location
  ): Reply =
    val length = Option.when(body.nonEmpty)(s"Content-Length: ${body.getBytes(ISO_8859_1).length}")
    val head = (Seq(
      s"$method $path HTTP/1.1",
      s"Host: 127.0.0.1:$port"
    ) ++ headers ++ length).mkString("", "\r\n", "\r\n\r\n")
    val reply = Using.resource(RawConnection(port)): connection =>
      connection.send(head + body)
      if method == "HEAD" then connection.head() else connection.reply()
    assert(reply.headers.contains("x-request-id"), "no X-Request-Id")
    assert(
      reply.status < 500 || isOwn(reply) || invocations.refusal.isDefined,
      s"$method $path: ${reply.status} ${reply.body}"
    )
    reply

  /** Whether it is the action's own response. */
  private def isOwn(reply: Reply): Boolean = reply.headers.contains("x-openwhisk-activation-id")

  /** Checks that a reply has this status and that its error is a sentence with all these words. */
  protected def refused(reply: Reply, status: Int, words: String*)(using munit.Location): Unit =
    assertEquals(reply.status, status, reply.body)
    assertEquals(reply.string("code"), reply.headers("x-request-id"))
    assert(reply.error.endsWith("."), s"not a sentence: ${reply.body}")
    words.foreach(word => assert(reply.error.contains(word), s"'$word' is not in: ${reply.error}"))

  protected def basic(pair: String): String =
    "Authorization: Basic " + Base64.getEncoder.encodeToString(pair.getBytes("UTF-8"))

  protected lazy val known: String = basic(s"$uuid:$key")

  /** The arguments of the last call. */
  protected def told: JsonObject =
    invocations.last.get.flatMap(_.payload.asObject).getOrElse(throw IllegalStateException("no invocation"))

final class FakeActions extends Actions:
  private val all = ConcurrentHashMap[ActionName, Action]()

  def add(name: String, annotations: JsonObject, parameters: JsonObject): Unit =
    val called = ActionName.of("guest", name)
    val definition = Samples.definition(name)
    val _ = all.put(
      called,
      Action(
        called,
        definition.copy(action = definition.action.copy(annotations = annotations)),
        parameters,
        JsonObject.empty
      )
    )

  def find(caller: Identity, name: ActionName): Either[ActionProblem, Action] = find(name)
  def find(name: ActionName): Either[ActionProblem, Action] =
    Option(all.get(name)).toRight(ActionProblem.NoSuchAction(name))

final class FakeInvocations extends Invocations:
  val last: AtomicReference[Option[Invocation]] = AtomicReference(None)
  @volatile var result: Invocation => (ActivationStatus, Json) = FakeInvocations.echo
  @volatile var refusal: Option[InvocationRefusal] = None
  @volatile var running: Boolean = false

  /** No invocation ends before it. */
  @volatile var gate: Future[Unit] = Future.unit

  def reset(): Unit =
    last.set(None)
    result = FakeInvocations.echo
    refusal = None
    running = false
    gate = Future.unit

  def returning(result: Json, status: ActivationStatus = ActivationStatus.Success): Unit =
    this.result = _ => (status, result)

  def hold(): Promise[Unit] =
    val promise = Promise[Unit]()
    gate = promise.future
    promise

  def invoke(
      invocation: Invocation,
      limit: Option[FiniteDuration]
  ): Future[Either[InvocationRefusal, Invoked]] =
    last.set(Some(invocation))
    val answer = refusal.toLeft:
      if running then Invoked.Running(FlareId.random()) else Invoked.Ended(ended(invocation))
    gate.map(_ => answer)(using ExecutionContext.parasitic)

  private def ended(invocation: Invocation): Activation =
    val (status, result) = this.result(invocation)
    val head = ActivationHead(
      FlareId.random(),
      invocation.caller.namespace,
      invocation.action.name.name,
      "0.0.1",
      invocation.caller.namespace,
      Timestamp.Epoch,
      Some(Timestamp.ofMillis(1)),
      Some(1.milli),
      invocation.cause,
      status,
      JsonObject.empty
    )
    Activation(head, result)

  def record(activation: Activation): Future[Unit] = Future.unit

object FakeInvocations:
  val echo: Invocation => (ActivationStatus, Json) = it => (ActivationStatus.Success, it.payload)

/** One namespace, and one that was revoked. */
final class FakeNamespaces(limits: burst.controller.limits.NamespaceLimits, pair: (String, String))
    extends NamespaceStore:
  def authenticate(uuid: String, key: String): Option[Identity] =
    Option.when((uuid, key) == pair)(Identity("guest", limits))
  def find(namespace: String): Option[Namespace] = namespace match
    case "guest" => Some(Namespace(namespace, limits, Timestamp.Epoch, None, pair(0)))
    case "gone" => Some(Namespace(namespace, limits, Timestamp.Epoch, Some(Timestamp.ofMicros(1)), pair(0)))
    case _ => None
  def issue(namespace: String, limits: OwnLimits, overwrite: Boolean): Option[Issued] = None
  def establish(namespace: String): Option[String] = None
  def renewKey(namespace: String): Option[String] = None
  def replaceKey(namespace: String): Option[Issued] = None
  def limit(namespace: String, limits: OwnLimits): Option[Namespace] = None
  def revoke(namespace: String): Option[Namespace] = None
  def revoked(): Set[String] = Set("gone")
  def list(limit: Int, skip: Int): Vector[Namespace] = Vector.empty
