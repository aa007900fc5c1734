package burst.controller.http

import burst.controller.deploy.Executables
import burst.controller.store.{Samples, Storage}
import burst.controller.cluster.Scheduling
import burst.controller.{Controller, Wiring}
import burst.node.traces.SpanSink
import com.typesafe.config.ConfigFactory
import io.circe.{parser, Json}
import java.net.URI
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest}
import java.nio.file.{Files, Path}
import java.util.{Base64, Comparator}
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import scala.concurrent.Await
import scala.concurrent.duration.{Duration, DurationInt}
import scala.jdk.CollectionConverters.*
import scala.jdk.OptionConverters.*

/** A reply of the API. */
final case class Reply(status: Int, body: String, headers: Map[String, String]):
  lazy val json: Json = parser.parse(body).fold(e => throw e, identity)
  def error: String = json.hcursor.get[String]("error").getOrElse("")
  def string(field: String): String = json.hcursor.get[String](field).getOrElse("")

/** A whole controller with an embedded store, a scripted scheduler and a port of its own. Every reply is
  * checked against openapi.yaml.
  */
abstract class HttpSuite extends munit.FunSuite:
  /** Hundreds of requests take a while on a busy machine. */
  override def munitTimeout: Duration = 3.minutes

  /** Settings that differ from the defaults. */
  def settings: String = ""

  protected lazy val adminKey: String = AdminKey.random()
  private lazy val directory: Path = Files.createTempDirectory("burst-http")
  protected lazy val config = ConfigFactory
    .parseString(s"""
      burst.http.port = 0
      burst.http.admin-key = "$adminKey"
      burst.store.directory = "$directory"
      pekko.coordinated-shutdown.exit-jvm = off
      """)
    .withFallback(ConfigFactory.parseString(settings))
    // On a busy machine, healthy parts may take long to answer, and clients to send everything.
    .withFallback(ConfigFactory.parseString("""
      burst.http.ready.patience = 60s
      burst.http.connections.header-timeout = 60s
      burst.http.body-pace.within = 60s
      # The flares of tests end when their clock began.
      burst.store.retention.age = 36500d
      """))
    .withFallback(ConfigFactory.load())
  protected lazy val kit: ActorTestKit = ActorTestKit(config)
  given system: ActorSystem[?] = kit.system

  /** Where the requests' spans go. */
  protected def spans: SpanSink = SpanSink.Off

  @volatile protected var service: FakeFlareService = null.asInstanceOf[FakeFlareService]
  protected lazy val controller: Controller =
    Await.result(Wiring.start(config, scheduling, spans = spans), 2.minutes)
  protected lazy val credentials: String = controller.guestCredentials.getOrElse(fail("guest already exists"))
  private lazy val client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()

  private def scheduling(storage: Storage): Scheduling =
    service = FakeFlareService(storage.flares)
    Scheduling(service, kit.spawn(Behaviors.ignore), Vector("direct", "redis-list"), "direct")

  protected def storage: Storage = controller.storage
  protected def port: Int = controller.address.getPort

  override def beforeAll(): Unit =
    credentials
    Samples.keepPackages(storage)

  override def beforeEach(context: BeforeEach): Unit = service.reset()

  override def afterAll(): Unit =
    Await.result(controller.shutdown(), 2.minutes)
    kit.shutdownTestKit()
    Files.walk(directory).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))

  /** Waits for the next millisecond, so that what is stored from now on is newer than all before. */
  protected def nextMoment(): Unit =
    val before = System.currentTimeMillis()
    while System.currentTimeMillis() == before do Thread.onSpinWait()

  /** Sends a request and checks what every reply must satisfy. */
  protected def send(
      method: String,
      path: String,
      body: Option[String] = None,
      auth: Option[String] = Some(credentials),
      contentType: Option[String] = Some("application/json"),
      headers: Map[String, String] = Map.empty
  )(using munit.Location): Reply =
    val request = HttpRequest
      .newBuilder(URI.create(s"http://127.0.0.1:$port$path"))
      .method(method, body.fold(BodyPublishers.noBody())(BodyPublishers.ofString(_)))
    auth.foreach(pair => request.header("Authorization", basic(pair)))
    if body.isDefined then contentType.foreach(request.header("Content-Type", _))
    headers.foreach(request.header(_, _))
    val response = client.send(request.build(), BodyHandlers.ofString())
    val reply = Reply(
      response.statusCode,
      response.body,
      response.headers.map.asScala.map((name, values) => name -> values.asScala.mkString(",")).toMap
    )
    check(method, path, reply, response.headers.firstValue("Content-Type").toScala.getOrElse(""))
    reply

  /** The credentials of a caller that may use a path. */
  protected def caller(path: String): Option[String] =
    Some(if path.startsWith(administration) then s"${AdminKey.User}:$adminKey" else credentials)

  private def check(method: String, path: String, reply: Reply, contentType: String)(using
      munit.Location
  ): Unit =
    assert(reply.headers.contains("x-request-id"), "no X-Request-Id")
    if reply.status >= 400 && reply.status != 502 then
      assertEquals(reply.string("code"), reply.headers("x-request-id"))
      assert(reply.error.endsWith("."), s"not a sentence: ${reply.body}")
    // OPTIONS is for browsers, and the same everywhere.
    if method != "OPTIONS" then
      assertEquals(
        ApiDescription.faults(method, path, reply.status, contentType, reply.body, reply.headers),
        Seq.empty
      )

  protected def basic(pair: String): String =
    "Basic " + Base64.getEncoder.encodeToString(pair.getBytes("UTF-8"))

  protected val administration = "/api/v1/admin"
  protected val admin = s"$administration/namespaces"
  protected val bursts = "/api/v1/namespaces/_/bursts"
  protected val flares = "/api/v1/namespaces/_/flares"
  protected val groups = "/api/v1/namespaces/_/groups"

  protected def code(bytes: Array[Byte] = Executables.elf()): String = Base64.getEncoder.encodeToString(bytes)

  protected def deployment(bytes: Array[Byte] = Executables.elf(), more: String = ""): Option[String] =
    Some(s"""{"exec":{"kind":"rust","code":"${code(bytes)}"}$more}""")

  protected def deploy(name: String, more: String = "")(using munit.Location): Reply =
    val reply = send("PUT", s"$bursts/$name?overwrite=true", deployment(more = more))
    assertEquals(reply.status, 200, reply.body)
    reply

  /** Checks that a reply has this status and an error that contains all these words. */
  protected def refused(reply: Reply, status: Int, words: String*)(using munit.Location): Unit =
    assertEquals(reply.status, status, reply.body)
    words.foreach(word => assert(reply.error.contains(word), s"'$word' is not in: ${reply.error}"))
