package burst.invoker.pack

import burst.invoker.driver.RuntimeAddress
import burst.protocol.Secret
import java.net.{InetAddress, ServerSocket}

/** A runtime that accepts one request and dies before it has answered. */
final class DyingRuntime extends AutoCloseable:
  private val socket = ServerSocket(0, 1, InetAddress.getLoopbackAddress)
  val address: RuntimeAddress = RuntimeAddress("127.0.0.1", socket.getLocalPort, Secret.random())

  private val taking = Thread: () =>
    try
      val connection = socket.accept()
      try
        val _ = connection.getInputStream.read()
      finally connection.close()
    catch case _: java.io.IOException => ()
    finally close()
  taking.start()

  def close(): Unit = socket.close()
