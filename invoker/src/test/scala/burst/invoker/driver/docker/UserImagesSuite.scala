package burst.invoker.driver
package docker

import com.github.dockerjava.api.exception.NotFoundException
import com.sun.net.httpserver.{HttpExchange, HttpServer}
import java.net.{InetAddress, InetSocketAddress}
import java.nio.file.{Files, Path}
import java.security.MessageDigest
import java.util.HexFormat
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.DurationInt
import scala.sys.process.*
import scala.util.Try

/** Images that a daemon pulls from a registry that knows no more than to give them out. */
class UserImagesSuite extends munit.FunSuite:
  override val munitTimeout = 2.minutes
  private given ExecutionContext = ExecutionContext.global

  private lazy val daemon = DockerPrerequisites.daemon(DockerPrerequisites.settings)

  private val registry = FunFixture[Registry](_ => Registry(), _.close())

  override def afterAll(): Unit = daemon.close()

  registry.test("pulled images make room for others, but for one that a container has"): registry =>
    val file = Files.createTempDirectory("images").resolve("pulled-images.json")
    val settings = ImageSettings(Vector(registry.name), size = 10, disk = 1, pullTimeout = 30.seconds)
    val images = UserImages(settings, daemon, file)
    val names = Vector("a", "b", "c", "d").map(name => s"${registry.name}/$name:latest")
    val Vector(a, b, c, d) = names: @unchecked
    for
      first <- images.find(a)
      container = daemon.calls.createContainerCmd(a).withCmd("/none").exec().getId
      second <- images.find(b)
      _ = assertEquals((first.isRight, second.isRight), (true, true), s"$first $second")
      _ = assertEquals(there(names), Vector(a, b))
      third <- images.find(c)
      _ = assert(third.isRight, third.toString)
      _ = assertEquals(there(names), Vector(a, c))
      _ = daemon.calls.removeContainerCmd(container).exec()
      next <- UserImages(settings, daemon, file).find(d)
    yield
      assert(next.isRight, next.toString)
      assertEquals(there(names), Vector(d))
      daemon.calls.removeImageCmd(d).exec()

  registry.test("one that is too large does not stay"): registry =>
    val file = Files.createTempDirectory("images").resolve("pulled-images.json")
    val settings = ImageSettings(Vector(registry.name), size = 1, disk = 10, pullTimeout = 30.seconds)
    val name = s"${registry.name}/large:latest"
    UserImages(settings, daemon, file).find(name).map: found =>
      assert(found.left.exists(_.contains("more than")), found.toString)
      assertEquals(there(Vector(name)), Vector.empty)

  private def there(names: Vector[String]): Vector[String] = names.filter: name =>
    Try(daemon.calls.inspectImageCmd(name).exec()) match
      case scala.util.Failure(_: NotFoundException) => false
      case other => other.isSuccess

/** Gives out images of any name, each of one layer with a file of its own: 700 KB, and 3 MB of `large`. */
private final class Registry:
  private val server = HttpServer.create(InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0)
  private var blobs = Map.empty[String, Array[Byte]]
  private val Path2 = "/v2/([a-z]+)/(manifests|blobs)/(.+)".r
  private val Manifest = "application/vnd.oci.image.manifest.v1+json"

  val name: String = s"127.0.0.1:${server.getAddress.getPort}"

  server.createContext("/", exchange => answer(exchange))
  server.start()

  def close(): Unit = server.stop(0)

  private def answer(exchange: HttpExchange): Unit =
    val (status, kind, body) = exchange.getRequestURI.getPath match
      case "/v2/" => (200, "application/json", "{}".getBytes)
      case Path2(image, "manifests", tag) if !tag.startsWith("sha256") => (200, Manifest, manifest(image))
      case Path2(_, _, digest) =>
        synchronized(blobs.get(digest)).fold((404, "text/plain", Array.emptyByteArray)): found =>
          (200, if digest == lastManifest then Manifest else "application/octet-stream", found)
      case _ => (404, "text/plain", Array.emptyByteArray)
    exchange.getResponseHeaders.add("Content-Type", kind)
    if kind == Manifest then exchange.getResponseHeaders.add("Docker-Content-Digest", digest(body))
    if exchange.getRequestMethod == "HEAD" then
      exchange.getResponseHeaders.add("Content-Length", body.length.toString)
      exchange.sendResponseHeaders(status, -1)
    else
      exchange.sendResponseHeaders(status, if body.isEmpty then -1 else body.length)
      exchange.getResponseBody.write(body)
    exchange.close()

  private var lastManifest = ""

  private def manifest(image: String): Array[Byte] = synchronized:
    val layer = tar(image, if image == "large" then 3_000_000 else 700_000)
    val config = s"""{"architecture":"amd64","os":"linux","config":{"Cmd":["/$image"]},
      "rootfs":{"type":"layers","diff_ids":["${digest(layer)}"]}}""".getBytes
    val text = s"""{"schemaVersion":2,"mediaType":"$Manifest",
      "config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":${config.length},
        "digest":"${digest(config)}"},
      "layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","size":${layer.length},
        "digest":"${digest(layer)}"}]}""".getBytes
    for blob <- List(layer, config, text) do blobs += digest(blob) -> blob
    lastManifest = digest(text)
    text

  /** The same each time it is asked for. */
  private def tar(image: String, bytes: Int): Array[Byte] =
    blobs.getOrElse(
      image, {
        val directory: Path = Files.createTempDirectory("layer")
        Files.writeString(directory.resolve(image), image.take(1) * bytes)
        val made = directory.resolve("layer.tar")
        val status = Process(Seq("tar", "-C", directory.toString, "-cf", made.toString, image)).!
        assert(status == 0)
        val found = Files.readAllBytes(made)
        blobs += image -> found
        found
      }
    )

  private def digest(bytes: Array[Byte]): String =
    s"sha256:${HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes))}"
