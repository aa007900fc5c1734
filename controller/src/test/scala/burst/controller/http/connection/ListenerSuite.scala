package burst.controller.http.connection

import burst.controller.http.{HttpSettings, RawConnection}
import com.typesafe.config.ConfigFactory
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.http.scaladsl.model.headers.`Timeout-Access`
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import scala.concurrent.duration.{Duration, DurationInt}
import scala.concurrent.{Await, Promise}
import scala.jdk.DurationConverters.*

class ListenerSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val kit = ActorTestKit(ConfigFactory.load())
  private given ActorSystem[?] = kit.system

  override def afterAll(): Unit = kit.shutdownTestKit()

  test("a connection that cannot be read yet is not cut before the header timeout"):
    val node = ConfigFactory.parseResources("node.conf").getDuration("pekko.io.tcp.register-timeout").toScala
    val header = HttpSettings.from(kit.config).connections.header
    assert(node >= header, s"$node, $header")

  test("the timer of a request whose connection was reset ends with its response"):
    val http = HttpSettings.from(kit.config)
    val (asked, answer) = (Promise[HttpRequest](), Promise[HttpResponse]())
    val listener = Listener(http.connections, http.server, None)
    val binding = listener.bind("127.0.0.1", 0): request =>
      asked.success(request)
      answer.future
    val listening = Await.result(binding, 30.seconds)
    try
      val connection = RawConnection(listening.localAddress.getPort)
      connection.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      val request = Await.result(asked.future, 30.seconds)
      val time = request.header[`Timeout-Access`].getOrElse(fail("the request has no timeout")).timeoutAccess
      assertEquals(time.timeout, 90.seconds: Duration)
      connection.reset()
      answer.success(HttpResponse())
      val deadline = 30.seconds.fromNow
      while time.timeout.isFinite do assert(deadline.hasTimeLeft(), "its timeout is still running")
    finally Await.result(listening.terminate(1.second), 30.seconds)
