package burst.node

import java.nio.file.Path
import java.security.{KeyStore, SecureRandom}
import javax.net.ssl.{KeyManagerFactory, SSLContext, SSLEngine, SSLSession, TrustManagerFactory}
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.remote.artery.tcp.SSLEngineProvider

/** Mutual TLS by the key that a cluster shares; see [[ClusterKey]]. Pekko instantiates it by class name. */
final class ClusterKeyEngine(file: Path) extends SSLEngineProvider:
  import ClusterKeyEngine.*

  def this(system: ActorSystem) = this(Path.of(system.settings.config.getString(ClusterKeyEngine.File)))

  private val context: SSLContext =
    val (key, certificate) = ClusterKey.read(file)
    val none = Array.emptyCharArray
    val store = KeyStore.getInstance(InMemory)
    store.load(null, none)
    store.setKeyEntry("own", key, none, Array(certificate))
    store.setCertificateEntry("cluster", certificate)
    val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    keys.init(store, none)
    val trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    trusted.init(store)
    val context = SSLContext.getInstance("TLS")
    context.init(keys.getKeyManagers, trusted.getTrustManagers, SecureRandom())
    context

  def createServerSSLEngine(hostname: String, port: Int): SSLEngine = engine(hostname, port, client = false)
  def createClientSSLEngine(hostname: String, port: Int): SSLEngine = engine(hostname, port, client = true)

  private def engine(hostname: String, port: Int, client: Boolean): SSLEngine =
    val engine = context.createSSLEngine(hostname, port)
    engine.setUseClientMode(client)
    engine.setEnabledProtocols(Array("TLSv1.3"))
    engine.setEnabledCipherSuites(Array(Cipher))
    if !client then engine.setNeedClientAuth(true)
    engine

  // Whoever has the key is a node, at whatever address.
  def verifyClientSession(hostname: String, session: SSLSession): Option[Throwable] = None
  def verifyServerSession(hostname: String, session: SSLSession): Option[Throwable] = None

object ClusterKeyEngine:
  private[node] val File = "pekko.remote.artery.ssl.burst-cluster-key"

  /** The store is never written. The type for files derives keys from an empty password, which takes tens of
    * thousands of hashes in a JVM that has just started: a fifth of an invoker's start.
    */
  private val InMemory = "JKS"

  /** AES is six times slower in a JVM without its second compiler, as `burst` starts it. */
  private[node] val Cipher = "TLS_CHACHA20_POLY1305_SHA256"
