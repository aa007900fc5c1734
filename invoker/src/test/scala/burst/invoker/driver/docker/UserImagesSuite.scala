package burst.invoker.driver
package docker

import com.github.dockerjava.api.exception.NotFoundException
import java.nio.file.{Files, Path}
import java.security.MessageDigest
import java.util.HexFormat
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.Http
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.model.HttpMethods.HEAD
import org.apache.pekko.http.scaladsl.model.headers.RawHeader
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.DurationInt
import scala.sys.process.*
import scala.util.Try

/** Images that a daemon pulls from a minimal, read-only registry. */
class UserImagesSuite extends munit.FunSuite:
  override val munitTimeout = 2.minutes
  private given ExecutionContext = ExecutionContext.global

  private lazy val daemon = DockerPrerequisites.daemon(DockerPrerequisites.settings)

  private val registry = FunFixture[Registry](_ => Registry(), _.close())

  override def afterAll(): Unit = daemon.close()

  registry.test("pulled images make room for others, unless a container uses them"): registry =>
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
      _ = assertEquals(existing(names), Vector(a, b))
      third <- images.find(c)
      _ = assert(third.isRight, third.toString)
      _ = assertEquals(existing(names), Vector(a, c))
      _ = daemon.calls.removeContainerCmd(container).exec()
      next <- UserImages(settings, daemon, file).find(d)
    yield
      assert(next.isRight, next.toString)
      assertEquals(existing(names), Vector(d))
      daemon.calls.removeImageCmd(d).exec()

  registry.test("an image that is too large does not stay"): registry =>
    val file = Files.createTempDirectory("images").resolve("pulled-images.json")
    val settings = ImageSettings(Vector(registry.name), size = 1, disk = 10, pullTimeout = 30.seconds)
    val name = s"${registry.name}/large:latest"
    UserImages(settings, daemon, file).find(name).map: found =>
      assert(found.left.exists(_.sentence.contains("more than")), found.toString)
      // The daemon may finish with it a little later: then the test checks again.
      val deadline = 60.seconds.fromNow
      def isRecorded = Files.readString(file).contains(name)
      while deadline.hasTimeLeft() && (isRecorded || existing(Vector(name)).nonEmpty) do Thread.sleep(100)
      assertEquals((existing(Vector(name)), isRecorded), (Vector.empty, false))

  registry.test(
    "a refused image removes no other, and is not pulled again however many want it"
  ): registry =>
    val file = Files.createTempDirectory("images").resolve("pulled-images.json")
    val settings = ImageSettings(Vector(registry.name), size = 10, disk = 1, pullTimeout = 30.seconds)
    val images = UserImages(settings, daemon, file)
    val (other, refused) = (s"${registry.name}/a:latest", s"${registry.name}/volumes:latest")
    for
      first <- images.find(other)
      _ = assert(first.isRight, first.toString)
      many <- Future.traverse(Vector.fill(4)(refused))(images.find)
      again <- images.find(refused)
    yield
      assertEquals((many :+ again).distinct, Vector(Left(ImageProblem.TooManyVolumes(16))))
      assertEquals(existing(Vector(other, refused)), Vector(other))
      assertEquals(registry.requestCount("volumes"), 1)
      daemon.calls.removeImageCmd(other).exec()

  registry.test("unused images are removed when the disk is full"): registry =>
    val file = Files.createTempDirectory("images").resolve("pulled-images.json")
    val settings = ImageSettings(Vector(registry.name), size = 10, disk = 100, pullTimeout = 30.seconds)
    val images = UserImages(settings, daemon, file)
    val (other, full) = (s"${registry.name}/a:latest", s"${registry.name}/full:latest")
    for
      first <- images.find(other)
      _ = assert(first.isRight, first.toString)
      found <- images.find(full)
    yield
      assert(found.isRight, found.toString)
      assertEquals(existing(Vector(other, full)), Vector(full))
      daemon.calls.removeImageCmd(full).exec()

  registry.test("an image that somebody has removed is noticed, and pulled again"): registry =>
    val file = Files.createTempDirectory("images").resolve("pulled-images.json")
    val settings = ImageSettings(Vector(registry.name), size = 10, disk = 100, pullTimeout = 30.seconds)
    val images = UserImages(settings, daemon, file)
    val name = s"${registry.name}/a:latest"
    for
      first <- images.find(name)
      image = first.fold(problem => fail(problem.sentence), identity)
      _ = assert(!images.isRemoved(image))
      _ = daemon.calls.removeImageCmd(name).exec()
      _ = assert(images.isRemoved(image))
      second <- images.find(name)
    yield
      assertEquals(second, first)
      daemon.calls.removeImageCmd(name).exec()

  private def existing(names: Vector[String]): Vector[String] = names.filter: name =>
    Try(daemon.calls.inspectImageCmd(name).exec()) match
      case scala.util.Failure(_: NotFoundException) => false
      case other => other.isSuccess

/** Serves images of any name, each of one layer with a file of its own: 700 KB, and 3 MB for `large`. The
  * image `volumes` declares 17 volumes; for `full` there is no space the first time. A client that tries TLS
  * first, as the daemon does, immediately gets an answer that this is no request.
  */
private final class Registry:
  private given system: ActorSystem = ActorSystem("registry")
  private val server = Await.result(Http().newServerAt("127.0.0.1", 0).bindSync(answer), 20.seconds)
  private var blobs = Map.empty[String, Array[Byte]]
  private val Named = "/v2/([a-z]+)/(manifests|blobs)/(.+)".r
  private val RequestsPerPull = 2
  private val Manifest = "application/vnd.oci.image.manifest.v1+json"

  val name: String = s"127.0.0.1:${server.localAddress.getPort}"

  def close(): Unit = Await.result(system.terminate(), 20.seconds): Unit

  private def answer(request: HttpRequest): HttpResponse = request.uri.path.toString match
    case "/v2/" => respond(StatusCodes.OK, "application/json", "{}".getBytes)
    case Named("full", "manifests", _) if countRequest("full") <= RequestsPerPull =>
      val denied = """{"errors":[{"code":"DENIED","message":"no space left on device"}]}"""
      respond(StatusCodes.Forbidden, "application/json", denied.getBytes)
    case Named(image, "manifests", tag) if !tag.startsWith("sha256") =>
      if request.method == HEAD then countRequest(image)
      respond(StatusCodes.OK, Manifest, manifest(image))
    case Named(_, _, digest) =>
      synchronized(blobs.get(digest)).fold(HttpResponse(StatusCodes.NotFound)): found =>
        val kind = if digest == lastManifest then Manifest else "application/octet-stream"
        respond(StatusCodes.OK, kind, found)
    case _ => HttpResponse(StatusCodes.NotFound)

  private def respond(status: StatusCode, kind: String, body: Array[Byte]): HttpResponse =
    val contentType = ContentType.parse(kind).fold(wrong => sys.error(wrong.toString), identity)
    HttpResponse(
      status,
      Vector(RawHeader("Docker-Content-Digest", digest(body))),
      HttpEntity(contentType, body)
    )

  private var manifests = Map.empty[String, Int].withDefaultValue(0)

  /** How often the image's manifest was requested. */
  def requestCount(image: String): Int = synchronized(manifests(image))

  private def countRequest(image: String): Int = synchronized:
    manifests += image -> (manifests(image) + 1)
    manifests(image)

  private var lastManifest = ""

  private def manifest(image: String): Array[Byte] = synchronized:
    val layer = tar(image, if image == "large" then 3_000_000 else 700_000)
    val volumes =
      if image == "volumes" then (1 to 17).map(number => s"\"/v$number\":{}").mkString(",") else ""
    val config = s"""{"architecture":"amd64","os":"linux","config":{"Cmd":["/$image"],"Volumes":{$volumes}},
      "rootfs":{"type":"layers","diff_ids":["${digest(layer)}"]}}""".getBytes
    val text = s"""{"schemaVersion":2,"mediaType":"$Manifest",
      "config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":${config.length},
        "digest":"${digest(config)}"},
      "layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","size":${layer.length},
        "digest":"${digest(layer)}"}]}""".getBytes
    for blob <- List(layer, config, text) do blobs += digest(blob) -> blob
    lastManifest = digest(text)
    text

  /** Returns the same bytes each time. */
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
