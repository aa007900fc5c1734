package burst.node

import com.typesafe.config.ConfigFactory
import java.io.IOException
import java.net.Socket
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import javax.net.ssl.SSLContext
import munit.FunSuite
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.scaladsl.adapter.TypedActorSystemOps
import org.apache.pekko.actor.typed.{ActorRefResolver, ActorSystem}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, Promise}

class ClusterKeySuite extends FunSuite:
  override def munitTimeout = 3.minutes
  private def directory(): Path = Files.createTempDirectory("burst-key")

  private def made(directory: Path = directory()): Path =
    val file = directory.resolve("cluster.pem")
    ClusterKey.create(file)
    file

  private def cluster(data: Path, settings: String = "") = ClusterSettings.from(
    ConfigFactory
      .parseString(s"burst.data = \"$data\"\nburst.cluster { $settings }")
      .withFallback(ConfigFactory.load())
  )

  private def refusal(work: => Unit): String = intercept[SetupException](work).getMessage

  test("the first controller creates the key, for its owner only, and keeps it"):
    val data = directory()
    val file = data.resolve("cluster.pem")
    cluster(data).prepare(Role.Controller)
    assertEquals(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)), "rw-------")
    val key = Files.readString(file)
    cluster(data, """host = h, port = 1, seeds = ["h:1", "i:1"]""").prepare(Role.Controller)
    cluster(data, """seeds = ["h:1"]""").prepare(Role.Invoker)
    assertEquals(Files.readString(file), key)
    assertEquals(Files.list(data).count, 1L)

  test("a limit on requests that exceeds a message between controllers stops a controller's start"):
    val settings = cluster(directory())
    def config(limit: String) = ConfigFactory
      .parseString(s"burst.http.flare-body-limit = $limit")
      .withFallback(ConfigFactory.parseResources("cluster.conf"))
    val message = refusal(settings.applyTo(config("23MiB"), Role.Controller): Unit)
    assert(message.contains("not be more than 22 MiB"), message)
    settings.applyTo(config("23MiB"), Role.Standalone): Unit
    settings.applyTo(config("22MiB"), Role.Controller): Unit

  test("nodes other than the first need a copy of the key, and report where it belongs"):
    val data = directory()
    for (role, settings) <- Seq(
        Role.Invoker -> """seeds = ["h:1"]""",
        Role.Controller -> """host = i, port = 1, seeds = ["h:1", "i:1"]"""
      )
    do
      val message = refusal(cluster(data, settings).prepare(role))
      assert(message.contains(s"$data/cluster.pem is not there"), message)
      assert(message.contains("--cluster-key FILE"), message)
    assertEquals(Files.list(data).count, 0L)
    // A key that was named is not created: the name may be a typo.
    val named = data.resolve("other.pem")
    val message = refusal(cluster(data, s"key = \"$named\"").prepare(Role.Controller))
    assert(message.contains(s"$named is not there"), message)
    cluster(data, s"key = \"${made()}\"").prepare(Role.Invoker)

  test("a key that others can read, or that is invalid, is refused"):
    val file = made()
    for open <- Seq("rw-r-----", "rw----r--", "rw--w----") do
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(open))
      assert(refusal(ClusterKey.read(file): Unit).contains("chmod 600"), open)
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--------"))
    ClusterKey.read(file): Unit
    val half = made()
    Files.writeString(
      half,
      Files.readString(half).linesIterator.takeWhile(!_.contains("CERT")).mkString("\n")
    )
    assert(refusal(ClusterKey.read(half): Unit).contains("is not a cluster's key"))

  test("a cluster key and an authority's certificates exclude each other"):
    val certificates = """tls { key = "a", certificate = "b", authority = "c" }"""
    // The files would have to be valid, too.
    assert(refusal(cluster(directory(), s"key = k, $certificates"): Unit).contains("burst.cluster.tls"))

  /** A node in this JVM, and a promise of the message that its actor receives. */
  private def node(file: Path): (ActorSystem[String], Promise[String]) =
    val received = Promise[String]()
    val settings = Settings.load(
      ConfigFactory.parseString(s"burst.cluster { key = \"$file\", seeds = [\"h:1\"] }"),
      Role.Invoker
    )
    val behavior = Behaviors.receiveMessage[String] { text =>
      received.trySuccess(text)
      Behaviors.same
    }
    (ActorSystem(behavior, ClusterSettings.SystemName, settings.config), received)

  test("nodes with the same key talk to each other, and others do not get a byte in"):
    val file = made()
    val (server, received) = node(file)
    val (client, _) = node(file)
    try
      val address = server.toClassic.asInstanceOf[ExtendedActorSystem].provider.getDefaultAddress
      val (host, port) = (address.host.get, address.port.get)

      def refused(context: SSLContext): Unit = intercept[IOException]:
        val socket = context.getSocketFactory.createSocket(host, port)
        try
          socket.getOutputStream.write("AKKA".getBytes)
          // In TLS 1.3 the client learns of the refusal with its first read.
          if socket.getInputStream.read() < 0 then throw IOException("it hung up")
        finally socket.close()
      refused(trusting(None))
      refused(trusting(Some(made())))

      val plain = Socket(host, port)
      plain.getOutputStream.write(Array[Byte]('A', 'K', 'K', 'A', 1, 0, 0, 0, 0))
      // At most a TLS alert, and nothing of Artery.
      val answer = plain.getInputStream.readAllBytes()
      assert(answer.isEmpty || answer.head == 21, answer.toVector)
      plain.close()

      ActorRefResolver(client).resolveActorRef[String](s"$address/user") ! "hello"
      assertEquals(Await.result(received.future, 60.seconds), "hello")
    finally
      server.terminate()
      client.terminate()

  /** A context that trusts any server, and presents this key if given. */
  private def trusting(key: Option[Path]): SSLContext =
    import java.security.{KeyStore, SecureRandom}
    import java.security.cert.X509Certificate
    import javax.net.ssl.{KeyManagerFactory, X509TrustManager}
    val keys = key.map: file =>
      val (own, certificate) = ClusterKey.read(file)
      val store = KeyStore.getInstance("PKCS12")
      store.load(null, null)
      store.setKeyEntry("own", own, Array.emptyCharArray, Array(certificate))
      val factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
      factory.init(store, Array.emptyCharArray)
      factory.getKeyManagers
    val trustAll = new X509TrustManager:
      def checkClientTrusted(chain: Array[X509Certificate], kind: String): Unit = ()
      def checkServerTrusted(chain: Array[X509Certificate], kind: String): Unit = ()
      def getAcceptedIssuers: Array[X509Certificate] = Array.empty
    val context = SSLContext.getInstance("TLS")
    context.init(keys.orNull, Array(trustAll), SecureRandom())
    context
