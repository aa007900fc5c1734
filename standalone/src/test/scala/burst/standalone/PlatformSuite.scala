package burst.standalone

import burst.controller.metrics.{FlareMetrics, MetricsSettings}
import burst.node.metrics.MetricsRegistry
import burst.node.{DataDirectory, Settings, SetupException}
import burst.protocol.{DefinitionRef, PackageId}
import com.typesafe.config.ConfigFactory
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.util.Base64
import scala.concurrent.duration.DurationInt
import scala.concurrent.Await

class PlatformSuite extends munit.FunSuite:
  override def munitTimeout = 5.minutes
  private val scratch = Files.createTempDirectory("standalone")

  /** A script that describes itself; nothing more of a runtime is needed here. */
  private val runtime =
    val file = scratch.resolve("burst-runtime")
    val description =
      """{"arch":"x86_64","glibc":"2.36","version":"0","backends":["direct","redis-list","s3"]}"""
    Files.writeString(file, s"#!/bin/sh\necho '$description'\n")
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"))

  private def settings(data: Path, more: String = ""): Settings = Settings.load(ConfigFactory.parseString(s"""
    burst.data = "$data"
    burst.http.port = 0
    burst.invoker { runtime-binary = "$runtime", slots = 3 }
    $more
  """))

  private def start(settings: Settings): (DataDirectory, Platform) =
    val data = DataDirectory.open(settings.data)
    val starting = Platform.start(settings, data)
    Await.ready(starting, 2.minutes)
    if starting.value.exists(_.isFailure) then data.close()
    (data, Await.result(starting, 0.seconds))

  private def stop(running: (DataDirectory, Platform)): Unit =
    Await.result(running._2.stop(10.seconds), 2.minutes)
    Await.result(running._2.terminate(), 2.minutes)
    running._1.close()

  private def get(platform: Platform, path: String, credentials: String): HttpResponse[String] =
    send(platform, "GET", path, credentials, "")

  private def send(platform: Platform, method: String, path: String, credentials: String, body: String) =
    val token = Base64.getEncoder.encodeToString(credentials.getBytes)
    val request = HttpRequest
      .newBuilder(URI(platform.url + path))
      .header("Authorization", s"Basic $token")
      .header("Content-Type", "application/json")
      .method(method, HttpRequest.BodyPublishers.ofString(body))
      .build()
    HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString())

  private def properties(settings: Settings): Map[String, String] =
    Files.readString(settings.data.resolve("properties")).linesIterator.map { case s"$key=$value" =>
      key -> value
    }.toMap

  test("a platform is ready when its API answers and its invoker is up, and its data outlives it"):
    val own = settings(scratch.resolve("one"))
    val first = start(own)
    val before = properties(own)
    try
      assertEquals(before("APIHOST"), first._2.url)
      val mode = Files.getPosixFilePermissions(own.data.resolve("properties"))
      assertEquals(PosixFilePermissions.toString(mode), "rw-------")
      assertEquals(PosixFilePermissions.toString(Files.getPosixFilePermissions(own.data)), "rwx------")
      assert(before("ADMIN_AUTH").matches("admin:[0-9a-f]{64}"), "no administrator's key")
      assertEquals(get(first._2, "/api/v1/admin/namespaces", before("ADMIN_AUTH")).statusCode, 200)
      val invokers = get(first._2, "/api/v1/invokers", before("AUTH"))
      assertEquals(invokers.statusCode, 200)
      assert(invokers.body.contains("\"slots\":3") && invokers.body.contains("\"up\""), invokers.body)
      val metrics = get(first._2, "/metrics", before("AUTH")).body
      for line <- Seq(
          "burst_slots 3.0",
          "burst_invoker_slots 3.0",
          """burst_flare_results_total{result="failed"} 0.0"""
        )
      do assert(metrics.linesIterator.contains(line), s"$line is not in\n$metrics")
      for name <- Seq("jvm_memory_used_bytes", "jvm_threads_current", "process_open_fds") do
        assert(metrics.contains(s"\n$name"), s"$name is not in\n$metrics")
      val problem = intercept[SetupException](DataDirectory.open(own.data))
      assert(problem.getMessage.contains(ProcessHandle.current.pid.toString), problem.getMessage)
    finally stop(first)
    val leftover = Files.writeString(first._1.temporary.resolve("left by a JVM that was killed"), "x")
    val second = start(own)
    try
      assert(!Files.exists(leftover))
      assertEquals(properties(own), before.updated("APIHOST", second._2.url))
      assertEquals(get(second._2, "/api/v1/namespaces/_/bursts", before("AUTH")).statusCode, 200)
    finally stop(second)

  test("a platform exports the metrics that dashboards and alerts use"):
    val own = settings(scratch.resolve("watched"))
    val running = start(own)
    try
      assertEquals(get(running._2, "/ping", properties(own)("AUTH")).statusCode, 200)
      val plain = get(running._2, "/metrics", properties(own)("AUTH")).body
      // Metrics by namespace begin with a first flare, for which no runtime exists here.
      val named = MetricsRegistry()
      val few = MetricsSettings(byNamespace = true, namespaces = 1, definitions = 1)
      val _ = FlareMetrics(named, few).of(DefinitionRef("a", "b", "0.0.1", PackageId.of(Array[Byte](1))))
      val exported = Exported.of(plain + String(named.text(), "UTF-8"))
      val expressions = Monitoring.expressions
      assert(expressions.size > 50, expressions.size)
      assertEquals(expressions.flatMap(_.faults(exported)), Vector.empty)
    finally stop(running)

  test("lost credentials are created again for the owner of the data"):
    val own = settings(scratch.resolve("two"))
    stop(start(own))
    Files.delete(own.data.resolve("properties"))
    val again = start(own)
    try assertEquals(get(again._2, "/api/v1/namespaces/_/bursts", properties(own)("AUTH")).statusCode, 200)
    finally stop(again)

  test("guest's key is left alone if the administrator replaced or revoked it"):
    val own = settings(scratch.resolve("administered"))
    val first = start(own)
    val before = properties(own)
    val admin = "/api/v1/admin/namespaces/guest"
    val replaced =
      try send(first._2, "PUT", s"$admin?overwrite=true", before("ADMIN_AUTH"), "{}").body
      finally stop(first)
    val s"""$_"auth":"$auth"$_""" = replaced: @unchecked
    val second = start(own)
    try
      assertEquals(get(second._2, "/api/v1/namespaces/_/bursts", auth).statusCode, 200)
      assertEquals(get(second._2, "/api/v1/namespaces/_/bursts", before("AUTH")).statusCode, 401)
      assertEquals(properties(own).get("AUTH"), None, "a refused key is not written")
      assertEquals(get(second._2, admin, properties(own)("ADMIN_AUTH")).statusCode, 200)
      assertEquals(send(second._2, "DELETE", admin, before("ADMIN_AUTH"), "").statusCode, 200)
    finally stop(second)
    // Neither with the existing properties nor without them.
    for _ <- 1 to 2 do
      val again = start(own)
      try
        assertEquals(properties(own).get("AUTH"), None, "a revoked namespace stays revoked")
        val shown = get(again._2, admin, properties(own)("ADMIN_AUTH"))
        assert(!shown.body.contains("\"revoked\":null"), shown.body)
      finally stop(again)
      Files.delete(own.data.resolve("properties"))

  test("with a new database and old properties guest gets a key again"):
    val own = settings(scratch.resolve("emptied"))
    stop(start(own))
    val database = Files.walk(own.data.resolve("controller")).sorted(java.util.Comparator.reverseOrder)
    database.forEach(Files.delete(_))
    val again = start(own)
    try assertEquals(get(again._2, "/api/v1/namespaces/_/bursts", properties(own)("AUTH")).statusCode, 200)
    finally stop(again)

  test("a platform that cannot start reports the reason and releases everything"):
    val own = settings(scratch.resolve("three"), "burst.invoker.driver = jail")
    intercept[SetupException](start(own))
    stop(start(settings(scratch.resolve("three"))))

  test("backends are given by kind, or by name with their kind"):
    val config = settings(
      scratch.resolve("four"),
      """burst.backends { redis-list = "redis://h", "a.b" { kind = "redis-list", uri = "redis://i" } }
         burst.default-backend = "a.b" """
    ).config
    assertEquals(config.getString("burst.backends.redis-list.kind"), "redis-list")
    assertEquals(config.getString("burst.backends.redis-list.uri"), "redis://h")
    assertEquals(config.getString("burst.backends.\"a.b\".uri"), "redis://i")
    assertEquals(config.getString("burst.default-backend"), "a.b")

  test("former names of the backend settings still work, and present names override them"):
    val before = """burst.scheduler {
      backends { old { kind = redis-list, uri = "redis://h" }, s3 = "s3://h" }
      default-backend = old
    }"""
    val old = settings(scratch.resolve("six"), before).config
    assertEquals(old.getString("burst.backends.old.uri"), "redis://h")
    assertEquals(old.getString("burst.backends.s3.kind"), "s3")
    assertEquals(old.getString("burst.default-backend"), "old")
    val now = s"""$before
      burst.backends.redis-list = "redis://i"
      burst.default-backend = redis-list"""
    val both = settings(scratch.resolve("six"), now).config
    assertEquals(both.getString("burst.backends.redis-list.kind"), "redis-list")
    assertEquals(both.getString("burst.backends.old.kind"), "redis-list")
    val twice =
      """burst.scheduler.backends.cache { kind = s3, uri = "s3://h", shared-credentials = true }
      burst.backends { cache { kind = redis-list, uri = "redis://i" }, direct { kind = redis-list, uri = "redis://j" } }"""
    val last = settings(scratch.resolve("six"), twice).config.getConfig("burst.backends")
    assertEquals(last.getString("cache.uri"), "redis://i")
    assert(!last.hasPath("cache.shared-credentials"), "the former entry adds nothing to the present one")
    assertEquals(last.getString("direct.kind"), "redis-list")
    assert(!last.hasPath("direct.keeps-nothing"), "it is cleaned up after like any other of its kind")
    val wrong = """burst.scheduler.backends.cache { kind = redis-list, url = "redis://h" }"""
    val message = intercept[SetupException](settings(scratch.resolve("six"), wrong): Unit).getMessage
    assert(message.contains("burst.scheduler.backends.cache.url"), message)
    assertEquals(both.getString("burst.default-backend"), "redis-list")

  test("settings must exist and have the right type"):
    def refusal(more: String): String =
      intercept[SetupException](settings(scratch.resolve("five"), more): Unit).getMessage
    assert(refusal("burst.limts.burst-size = 5").contains("burst.limits.burst-size"))
    assert(refusal("burst.scheduler.queue-limit = none").contains("must be a whole number"))
    assert(refusal(
      """burst.backends.cache = "redis://:hidden@h" """
    ).contains("no kind 'cache': give direct, redis-list or s3, or {"))
    val unknown = refusal("""burst.backends.cache { kind = redis, uri = "redis://:hidden@h" }""")
    assert(unknown.contains("kind is 'redis'") && !unknown.contains("hidden"), unknown)
    assert(refusal("""burst.backends.s3 { url = "s3://h" }""").contains("burst.backends.s3.url"))

  test("by default the modules store their data below the platform's, and the backend is direct"):
    val config = settings(Path.of("/x")).config
    assertEquals(config.getString("burst.store.directory"), "/x/controller")
    assertEquals(config.getString("burst.store.spool"), "/x/controller/spool")
    assertEquals(config.getString("burst.invoker.directory"), "/x/invoker")
    assertEquals(config.getString("burst.default-backend"), "direct")
