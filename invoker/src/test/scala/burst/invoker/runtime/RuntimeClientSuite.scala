package burst.invoker.runtime

import burst.invoker.driver.RuntimeAddress
import burst.protocol.{FailureKind, FlareId, Secret}
import java.net.{InetAddress, ServerSocket}
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class RuntimeClientSuite extends munit.FunSuite:
  private val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  test("a runtime that does not answer is not waited for beyond the lease it was to be told of"):
    // The kernel takes the connection, and nobody reads from it.
    val silent = ServerSocket(0, 1, InetAddress.getLoopbackAddress)
    try
      val client = RuntimeClient(maxLine = 100, connectTimeout = 10.seconds)(using kit.system)
      val address = RuntimeAddress("127.0.0.1", silent.getLocalPort, Secret.random())
      for left <- Vector(100.millis, 0.millis) do
        val answer = Await.result(client.renew(address, FlareId.random(), left), 10.seconds)
        assertEquals(answer.left.map(_.kind), Left(FailureKind.PackLost))
    finally silent.close()
