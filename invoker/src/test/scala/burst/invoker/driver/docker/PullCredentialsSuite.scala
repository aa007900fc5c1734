package burst.invoker.driver
package docker

import com.github.dockerjava.api.async.ResultCallback
import com.github.dockerjava.api.model.PullResponseItem
import com.sun.net.httpserver.HttpServer
import java.net.InetSocketAddress
import java.nio.file.Files
import java.util.Base64
import java.util.concurrent.TimeUnit.SECONDS
import scala.util.Using

/** What a daemon, here a server of this suite, receives when a user's image is pulled. */
class PullCredentialsSuite extends munit.FunSuite:
  private val DockerConfig = "DOCKER_CONFIG"

  test("a registry does not receive the credentials of the machine's user"):
    val login = Base64.getEncoder.encodeToString("operator:password".getBytes)
    val directory = Files.createTempDirectory("docker")
    Files.writeString(
      directory.resolve("config.json"),
      s"""{"auths":{"registry.example.org":{"auth":"$login"}}}"""
    )
    @volatile var shown = Vector.empty[String]
    val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
    def answers(path: String, body: String): Unit =
      val _ = server.createContext(
        path,
        exchange =>
          Option(exchange.getRequestHeaders.getFirst("X-Registry-Auth")).foreach: header =>
            shown :+= String(Base64.getUrlDecoder.decode(header))
          exchange.sendResponseHeaders(200, body.length)
          Using.resource(exchange.getResponseBody)(_.write(body.getBytes))
      )
    answers("/info", """{"NCPU":1}""")
    answers(
      "/images/",
      """{"Id":"sha256:1","Config":{"Labels":{"burst.arch":"x86_64","burst.glibc":"2.36"}}}"""
    )
    answers("/images/create", """{"status":"Pull complete"}""")
    server.start()
    val before = Option(System.setProperty(DockerConfig, directory.toString))
    try
      val host = s"tcp://127.0.0.1:${server.getAddress.getPort}"
      val daemon = DockerDaemon.connect(DockerPrerequisites.settings.copy(host = Some(host)))
      val name = "registry.example.org/private/image:latest"
      // The client would send them: otherwise this test would show nothing.
      assertEquals(daemon.calls.pullImageCmd(name).getAuthConfig.getUsername, "operator")
      val callback = ResultCallback.Adapter[PullResponseItem]()
      daemon.pull(name, callback)
      assert(callback.awaitCompletion(20, SECONDS))
      daemon.close()
      assert(!shown.exists(it => it.contains("operator") || it.contains(login)), shown.toString)
    finally
      before.fold(System.clearProperty(DockerConfig))(System.setProperty(DockerConfig, _))
      server.stop(0)
