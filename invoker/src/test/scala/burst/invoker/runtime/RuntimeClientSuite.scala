package burst.invoker.runtime

import burst.invoker.driver.RuntimeAddress
import burst.protocol.{FailureKind, FlareId, Protocol, Secret}
import com.sun.net.httpserver.HttpServer
import java.net.{InetAddress, InetSocketAddress, ServerSocket}
import java.util.concurrent.atomic.AtomicReference
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class RuntimeClientSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  test("renewing a lease waits for a silent runtime no longer than the lease"):
    // The kernel accepts the connection, and nothing reads from it.
    val silent = ServerSocket(0, 1, InetAddress.getLoopbackAddress)
    try
      val client =
        RuntimeClient(maxLine = 100, connectTimeout = 10.seconds, startTimeout = 60.seconds)(using kit.system)
      val address = RuntimeAddress("127.0.0.1", silent.getLocalPort, Secret.random())
      for lease <- Vector(100.millis, 0.millis) do
        val answer = Await.result(client.renew(address, FlareId.random(), lease), 60.seconds)
        assertEquals(answer.left.map(_.kind), Left(FailureKind.PackLost))
    finally silent.close()

  test("an ignored response that does not end holds no connection"):
    val peer = Peer()
    try
      val client =
        RuntimeClient(maxLine = 100, connectTimeout = 10.seconds, startTimeout = 60.seconds)(using kit.system)
      val address = RuntimeAddress("127.0.0.1", peer.port, Secret.random())
      val renewed = client.renew(address, FlareId.random(), 60.seconds)
      val connection = peer.accept()
      connection.request()
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
      assertEquals(Await.result(renewed, 60.seconds), Right(()))
      assertEquals(connection.untilClosed(), 0L)
      // A response that ends leaves its connection for the next request.
      val again = client.renew(address, FlareId.random(), 60.seconds)
      val next = peer.accept()
      next.request()
      next.answer("{}")
      assertEquals(Await.result(again, 60.seconds), Right(()))
      val last = client.renew(address, FlareId.random(), 60.seconds)
      next.request()
      next.answer("{}")
      assertEquals(Await.result(last, 60.seconds), Right(()))
    finally peer.close()

  test("both sides send their versions, and a runtime of another release is refused with an explanation"):
    val announced = AtomicReference("")
    val taken = AtomicReference(Option.empty[String])
    val server = HttpServer.create(InetSocketAddress(InetAddress.getLoopbackAddress, 0), 0)
    server.createContext(
      "/",
      exchange =>
        announced.set(exchange.getRequestHeaders.getFirst(Protocol.VersionsHeader))
        taken.get.foreach(exchange.getResponseHeaders.set(Protocol.VersionHeader, _))
        exchange.sendResponseHeaders(204, -1)
        exchange.close()
    )
    server.start()
    try
      val client =
        RuntimeClient(maxLine = 100, connectTimeout = 10.seconds, startTimeout = 60.seconds)(using kit.system)
      val address = RuntimeAddress("127.0.0.1", server.getAddress.getPort, Secret.random())
      def renewed(version: Option[String]) =
        taken.set(version)
        Await.result(client.renew(address, FlareId.random(), 60.seconds), 60.seconds).left.map(_.message)
      assertEquals(renewed(Some(s"${Protocol.Runtimes.newest}")), Right(()))
      assertEquals(renewed(None), Right(()), "a runtime from before versions existed")
      assertEquals(announced.get, Protocol.Runtimes.range)
      for (version, named) <- Vector("900" -> "version 900", "x" -> "none that is a number") do
        val message = renewed(Some(version)).swap.getOrElse("")
        assert(message.contains(s"the runtime speaks $named"), message)
        assert(message.contains("invoker's release"), message)
    finally server.stop(0)
