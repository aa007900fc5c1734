package burst.controller.store

import java.io.IOException
import java.net.{InetAddress, ServerSocket, URI}
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.sql.DriverManager
import java.util.Comparator
import java.util.concurrent.{ThreadLocalRandom, TimeUnit}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.jdk.StreamConverters.*
import scala.util.{Try, Using}

/** A PostgreSQL server of the test's own: a fresh cluster in a temporary directory, on a free port. */
final class PostgresServer private (directory: Path) extends AutoCloseable:
  import PostgresServer.*

  private val data = directory.resolve("data")
  private val log = directory.resolve("log")
  private val port = freePort()
  @volatile private var postmaster = Option.empty[Process]

  locally:
    val password = directory.resolve("password")
    Files.writeString(password, Password)
    own(password)
    val options = s"-U $User -A scram-sha-256 -E UTF8 --locale=C -N".split(" ").toSeq
    run("initdb" +: options ++: Seq("-D", s"$data", s"--pwfile=$password"))
    start()

  /** Starts the server on the data it has, and waits until it answers. */
  def start(): Unit =
    val address = Seq("-h", "127.0.0.1", "-p", s"$port", "-k", s"$directory")
    val process = builder(("postgres" +: Seq("-D", s"$data") ++: address)*).start()
    postmaster = Some(process)
    val deadline = 60.seconds.fromNow
    while Try(connect("postgres").close()).isFailure do
      if !process.isAlive || deadline.isOverdue() then
        throw IllegalStateException(s"PostgreSQL did not start:\n${Files.readString(log)}")
      process.waitFor(20, TimeUnit.MILLISECONDS)

  /** `kill -9` of the server's first process; its others follow as they notice. */
  def kill(): Unit =
    val children = postmaster.toVector.flatMap(_.descendants.toScala(Vector))
    postmaster.foreach(_.destroyForcibly().waitFor())
    // A new one refuses to start while old ones still hold the shared memory.
    children.foreach(_.onExit.get(30, TimeUnit.SECONDS))
    postmaster = None

  /** Ends all connections of others, in whatever they are. */
  def cutConnections(): Unit =
    Using.resource(connect("postgres")): connection =>
      val others =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
      Using.resource(connection.createStatement)(_.execute(others))
    ()

  /** An empty database; returns its name. */
  def createDatabase(): String =
    val name = s"t${java.util.UUID.randomUUID.toString.replace("-", "")}"
    Using.resource(connect("postgres")): connection =>
      Using.resource(connection.createStatement)(_.execute(s"CREATE DATABASE $name"))
    name

  def settings(database: String, connectTimeout: FiniteDuration = 10.seconds): PostgresSettings =
    PostgresSettings(URI(url(database)), User, Password, 8, connectTimeout, 20.seconds, memory = 5.millis)

  override def close(): Unit =
    kill()
    if Files.exists(directory) then
      Files.walk(directory).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))

  private def url(database: String) = s"postgresql://127.0.0.1:$port/$database"

  private def connect(database: String) =
    DriverManager.getConnection(s"jdbc:${url(database)}", User, Password)

  private def run(command: Seq[String]): Unit =
    val process = builder(command*).start()
    if !process.waitFor(60, TimeUnit.SECONDS) || process.exitValue != 0 then
      process.destroyForcibly()
      throw IllegalStateException(s"${command.head} failed:\n${Files.readString(log)}")

  private def builder(command: String*): ProcessBuilder =
    val line = unprivileged ++ (programs.resolve(command.head).toString +: command.tail)
    ProcessBuilder(line*)
      .directory(directory.toFile)
      .redirectErrorStream(true)
      .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile))

object PostgresServer:
  /** Below those the kernel gives to outgoing connections, so that it is free again after a restart. */
  private def freePort(): Int =
    val loopback = InetAddress.getLoopbackAddress
    Iterator
      .continually(10000 + ThreadLocalRandom.current.nextInt(20000))
      .find(port => Try(ServerSocket(port, 1, loopback).close()).isSuccess)
      .get

  val User = "burst"
  val Password = "postgres-test-password"

  private val isRoot = System.getProperty("user.name") == "root"

  // It refuses to run as root; the package brings a user for it.
  private val unprivileged =
    if isRoot then Seq("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups") else Seq.empty

  private def own(path: Path): Unit = if isRoot then
    val postgres = path.getFileSystem.getUserPrincipalLookupService.lookupPrincipalByName("postgres")
    val _ = Files.setOwner(path, postgres)

  private lazy val programs: Path =
    val installed = Path.of("/usr/lib/postgresql")
    val versions =
      try Using.resource(Files.list(installed))(_.toScala(Vector)).map(_.resolve("bin"))
      catch case _: IOException => Vector.empty
    versions
      .filter(bin => Files.isExecutable(bin.resolve("postgres")))
      .sortBy(_.getParent.getFileName.toString.toIntOption)
      .lastOption
      .getOrElse(munit.Assertions.fail(
        "PostgreSQL is not installed: on Debian, apt-get install postgresql; tests/prepare.sh does"
      ))

  /** A fresh server, gone when closed or at the latest with this JVM. */
  def fresh(): PostgresServer =
    // Its user must get there, and the name of its socket must be short.
    val directory = Files.createTempDirectory(Path.of("/tmp"), "burst-postgres")
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"))
    own(directory)
    val server = PostgresServer(directory)
    Runtime.getRuntime.addShutdownHook(Thread(() => server.close()))
    server

  /** Serves all tests that do not harm it. */
  lazy val shared: PostgresServer = fresh()
