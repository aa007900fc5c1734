package burst.controller.http

import burst.controller.deploy.Executables.{elf, zip}
import burst.controller.scheduler.InvokerView
import burst.protocol.{PackageId, RuntimeInfo}
import io.circe.Json
import io.circe.parser.parse
import java.nio.file.{Files, Path}

class DeploySuite extends HttpSuite:
  override def settings = """
    burst.limits.package-size = 20KiB
    burst.limits.unpacked-size = 1MiB
    burst.http.deploy-body-limit = 128KiB
    """

  private def put(body: String, name: String = "bad") = send("PUT", s"$bursts/$name", Some(body))

  private def unchanged(name: String = "bad")(using munit.Location): Unit =
    assertEquals(send("GET", s"$bursts/$name").status, 404)
    noPackageAlone()

  private def noPackageAlone()(using munit.Location): Unit =
    val used = Vector("guest", "keeper", "few", "small", "whisk.system")
      .flatMap(storage.definitions.list(_, 200, 0))
      .map(_.packageId)
      .toSet
    assertEquals(storage.packages.ids().filterNot(used), Vector.empty)

  test("a body that is not JSON, or not an object, is refused"):
    refused(put(""), 400, "not valid JSON")
    refused(put("{"), 400, "not valid JSON")
    refused(put("[]"), 400, "must be a JSON object")
    refused(put("\"\\ud800"), 400)
    refused(put("[" * 20000), 400, "nested deeper")
    refused(put(s"""{"parameters":${"[" * 300}${"]" * 300}}"""), 400, "nested deeper")
    unchanged()

  test("unknown, missing and mistyped fields are named with their path"):
    refused(put(s"""{"exec":{"kind":"rust","code":"${code()}"},"limits":{}}"""), 400, "'limits'", "config")
    refused(put("{}"), 400, "'exec' is missing")
    refused(put("""{"exec":{"kind":"rust"}}"""), 400, "'exec.code' is missing")
    refused(put("""{"exec":{"code":""}}"""), 400, "'exec.kind' is missing")
    refused(put("""{"exec":[]}"""), 400, "'exec' must be an object")
    refused(put("""{"exec":{"kind":"rust","code":7}}"""), 400, "'exec.code' must be a string")
    refused(put("""{"exec":{"kind":"cobol","code":""}}"""), 400, "'exec.kind' must be one of: rust")
    refused(put("""{"exec":{"kind":"rust","code":"","main":"x"}}"""), 400, "'exec.main'")
    refused(put("""{"exec":{"kind":"rust","code":"%%%"}}"""), 400, "'exec.code' must be base64")
    refused(put(deployment(more = ""","parameters":[1]""").get), 400, "'parameters' must be an object")
    unchanged()

  test("a package that cannot be written is refused as a temporary failure and leaves nothing"):
    val packages = Path.of(config.getString("burst.store.directory")).resolve("packages")
    val aside = Files.move(packages, packages.resolveSibling("aside"))
    val reply = send("PUT", s"$bursts/bad", deployment())
    Files.move(aside, packages)
    refused(reply, 503, "store failed", "again")
    assert(reply.headers.contains("retry-after"), reply.headers)
    unchanged()

  test("a program of any kind can be deployed, and is an action as well"):
    def exec(text: String) = s"""{"exec":{$text}}"""
    val source = """"code":"def f(args):\n    return args""""
    val reply = put(exec(s""""kind":"python","main":"f",$source"""), "snake")
    assertEquals(reply.status, 200)
    assertEquals(reply.json.hcursor.downField("exec").get[String]("kind"), Right("python:3.10"))
    val action = send("GET", "/api/v1/namespaces/_/actions/snake").json.hcursor.downField("exec")
    assertEquals(action.get[String]("code"), Right("def f(args):\n    return args"))
    assertEquals(action.get[String]("main"), Right("f"))
    assertEquals(action.get[Boolean]("binary"), Right(false))
    refused(
      put(exec(s""""kind":"python:2",$source""")),
      400,
      "'exec.kind' must be one of: rust",
      "python:3.10"
    )
    for kind <- List("sequence", "blackbox") do
      refused(put(exec(s""""kind":"$kind",$source""")), 400, "'exec.kind' must be one of")
    refused(put(exec(s""""kind":"go:default",$source""")), 400)
    refused(put(exec(""""kind":"nodejs","code":""""")), 400)
    refused(put(exec(s""""kind":"python","main":"${"x" * 513}",$source""")), 400, "'exec.main'")
    assertEquals(send("GET", s"$bursts/bad").status, 404)

  test("deploying another kind removes what only the former kind had"):
    val actions = "/api/v1/namespaces/_/actions"
    val node = """{"exec":{"kind":"nodejs:20","code":"function main() {}"},"limits":{"concurrency":5}}"""
    assertEquals(send("PUT", s"$actions/changing", Some(node)).status, 200)
    assertEquals(send("PUT", s"$bursts/changing?overwrite=true", deployment()).status, 200)
    val action = send("GET", s"$actions/changing").json
    assertEquals(action.hcursor.downField("limits").get[Int]("concurrency"), Right(1))
    assert(!action.noSpaces.contains("nodejs"), action.noSpaces)
    // Removes the former program's package, too.
    assertEquals(send("DELETE", s"$bursts/changing").status, 200)

  test("options out of range are named with their range"):
    def config(text: String) = put(deployment(more = s""","config":{$text}""").get)
    refused(config(""""granularity":0"""), 400, "'config.granularity'", "from 1 to 4096")
    refused(config(""""granularity":1.5"""), 400, "'config.granularity'", "whole number")
    refused(config(""""granularity":1e99"""), 400, "'config.granularity'")
    refused(config(""""granularity":1e999999999"""), 400, "'config.granularity'")
    refused(config(""""granularity":"4""""), 400, "'config.granularity'")
    refused(config(""""packing":"tight""""), 400, "'config.packing'", "mixed, homogeneous, heterogeneous")
    refused(config(""""backend":"pigeon""""), 400, "'config.backend'", "direct, redis-list")
    refused(config(""""chunkSize":1"""), 400, "'config.chunkSize'", "4096")
    refused(config(""""timeout":0"""), 400, "'config.timeout'", "900000")
    refused(config(""""memory":1"""), 400, "'config.memory'")
    refused(config(""""memory":99999999"""), 400, "'config.memory'", "10240")
    refused(config(""""timeout":3600000"""), 400, "from 1 to 900000 (milliseconds, at most 15m)")
    refused(config(""""memory":10241"""), 400, "from 16 to 10240 (MiB, at most 10G)")
    refused(config(""""chunkSize":99999999"""), 400, "from 4096 to 67108864 (bytes, at most 64M)")
    refused(config(""""retries":-1"""), 400, "'config.retries'", "from 0 to 10.")
    refused(config(""""speed":9"""), 400, "'config.speed'")
    unchanged()

  test("a package that cannot run here is refused with what to do about it"):
    def pack(bytes: Array[Byte]) = send("PUT", s"$bursts/bad", deployment(bytes))
    refused(pack(Array.empty), 400, "empty")
    refused(pack("echo".getBytes), 400, "neither a zip nor")
    refused(pack(zip("exec" -> elf()).dropRight(30)), 400, "damaged zip", "build it again")
    refused(pack(zip("main" -> elf())), 400, "no file 'exec'")
    refused(pack(zip("exec" -> "#!/bin/sh".getBytes)), 400, "ELF")
    refused(pack(zip("exec" -> elf(), "../up" -> Array(1))), 400, "path")
    refused(pack(elf(machine = 183)), 400, "built for aarch64", "x86_64")
    refused(pack(elf(Seq("GLIBC_2.38"))), 400, "needs C library 2.38", "has 2.36", "statically")
    refused(pack(zip("exec" -> elf(), "zeros" -> new Array[Byte](2 << 20))), 400, "unpacks to")
    unchanged()

  test("a package is checked only against invokers that are up"):
    val arm = FakeFlareService.machine.status.copy(runtime = RuntimeInfo("aarch64", "2.36"))
    service.views = Vector(FakeFlareService.machine, InvokerView(arm, 0, up = false))
    deploy("compared")
    service.views = Vector(FakeFlareService.machine, InvokerView(arm, 0, up = true))
    refused(put(deployment().get), 400, "runtime is aarch64")

  test("a package or body over the limit is 413"):
    refused(send("PUT", s"$bursts/bad", deployment(new Array[Byte](20481))), 413, "20481", "20480")
    refused(put("x" * 140000), 413, "131072 bytes")
    unchanged()

  test("a name that breaks the naming rule is refused"):
    Seq("-a", "a!b", "a%2Fb%2Fc", "a%2F", "a%2F-b", "a%20", "x" * 257, "%C3%A9", "a%0A").foreach: name =>
      refused(send("PUT", s"$bursts/$name", deployment()), 400, "A name has at most 256")
    Seq("a", "_a", "A.b-c@d", "two%20words", "x" * 256).foreach: name =>
      assertEquals(send("PUT", s"$bursts/$name", deployment()).status, 200, name)

  test("a body that is not declared as JSON is 415"):
    def as(contentType: Option[String]) =
      send("PUT", s"$bursts/bad", deployment(), contentType = contentType)
    refused(as(Some("text/plain")), 415, "application/json")
    refused(as(Some("nonsense")), 415)
    refused(as(None), 415)
    assertEquals(as(Some("application/json; charset=utf-8")).status, 200)

  test("a definition is returned as deployed, with the platform's values for what it leaves out"):
    val more = ""","config":{"granularity":4,"packing":"homogeneous","retries":null},"parameters":{"a":[1]}"""
    val reply = deploy("whole", more)
    val expected = s"""{"namespace":"guest","name":"whole","version":"0.0.1",
      "exec":{"kind":"rust","package":"${PackageId.of(elf()).value}","size":${elf().length}},
      "config":{"granularity":4,"packing":"homogeneous","backend":null,"chunkSize":null,"timeout":60000,
      "memory":256,"retries":0},"parameters":{"a":[1]},"environment":{},"secrets":[]}"""
    assertEquals(Right(reply.json.mapObject(_.remove("updated"))), parse(expected))
    assertEquals(send("GET", s"$bursts/whole").json, reply.json)
    assertEquals(send("GET", s"/api/v1/namespaces/guest/bursts/whole/").json, reply.json)

  test("a name that is taken is 409 unless overwritten, which raises the version"):
    deploy("taken")
    val other = elf(Seq("GLIBC_2.17"))
    refused(send("PUT", s"$bursts/taken", deployment(other)), 409, "overwrite=true")
    refused(send("PUT", s"$bursts/taken?overwrite=false", deployment(other)), 409)
    refused(send("PUT", s"$bursts/taken?overwrite=2", deployment(other)), 400, "'overwrite'")
    assert(storage.packages.size(PackageId.of(other)).isEmpty)
    assertEquals(send("PUT", s"$bursts/taken?overwrite=true", deployment(other)).string("version"), "0.0.2")

  test("a namespace's definitions are limited in number and in the bytes of their packages"):
    def named(credentials: String, name: String) =
      send("PUT", s"$bursts/$name?overwrite=true", deployment(), auth = Some(credentials))
    def namespace(name: String, limits: String) =
      send("PUT", s"$admin/$name", Some(s"""{"limits":{$limits}}"""), caller(admin)).string("auth")
    val few = namespace("few", """"definitions":1""")
    assertEquals(named(few, "one").status, 200)
    assertEquals(named(few, "one").string("version"), "0.0.2")
    refused(named(few, "two"), 413, "1 definitions", "remove one")
    val small = namespace("small", s""""definitionsSize":${elf().length + 3}""")
    assertEquals(named(small, "one").status, 200)
    refused(named(small, "two"), 413, s"${2 * elf().length + 4} bytes", s"${elf().length + 3}")
    noPackageAlone()
    val one = s"$bursts/one?overwrite=true"
    val more = deployment(more = ""","parameters":{"a":[1, 2]}""")
    refused(send("PUT", one, more, Some(small)), 413, s"${elf().length + 11} bytes")

  test("fields beside the package must be small, and lists do not show parameters"):
    def padded(size: Int) = deployment(more = s""","parameters":{"pad":"${"x" * size}"}""")
    refused(send("PUT", s"$bursts/padded", padded(1 << 16)), 413, "'exec'", "65536")
    assertEquals(send("PUT", s"$bursts/padded", padded(60_000)).status, 200)
    val listed = send("GET", bursts).json.hcursor.values.get.map(_.asObject.get)
    assert(listed.exists(_("name").contains(Json.fromString("padded"))))
    assert(!listed.exists(_.contains("parameters")), listed)

  test("an overwrite keeps the parameters and options it does not name"):
    val first = deploy("kept", ""","config":{"granularity":4,"timeout":5000},"parameters":{"a":1,"b":2}""")
    def left(reply: Reply) = reply.json.mapObject(_.filterKeys(Set("config", "parameters")))
    assertEquals(left(deploy("kept")), left(first))
    assertEquals(left(deploy("kept", ""","config":{"granularity":null},"parameters":null""")), left(first))
    val changed = deploy("kept", ""","config":{"timeout":7000},"parameters":{"c":3}""").json
    val config = changed.hcursor.downField("config")
    assertEquals(config.get[Int]("granularity") -> config.get[Int]("timeout"), Right(4) -> Right(7000))
    assertEquals(changed.hcursor.get[Json]("parameters").map(_.noSpaces), Right("""{"c":3}"""))
    val emptied = deploy("kept", ""","parameters":{}""").json
    assertEquals(emptied.hcursor.get[Json]("parameters").map(_.noSpaces), Right("{}"))
    assertEquals(send("GET", s"$bursts/kept").json, emptied)

  test("removing returns the definition; its package is deleted with the last one that uses it"):
    val bytes = elf(Seq("GLIBC_2.18"))
    send("PUT", s"$bursts/one", deployment(bytes))
    send("PUT", s"$bursts/two", deployment(bytes))
    assertEquals(send("DELETE", s"$bursts/one").string("name"), "one")
    assert(storage.packages.size(PackageId.of(bytes)).isDefined)
    assertEquals(send("DELETE", s"$bursts/two").status, 200)
    assert(storage.packages.size(PackageId.of(bytes)).isEmpty)
    refused(send("DELETE", s"$bursts/two"), 404, "'two'")
    refused(send("GET", s"$bursts/two"), 404, "'two'", "deploy it first")

  test("definitions are listed in pages"):
    Seq("p1", "p2", "p3").foreach: name =>
      nextMoment()
      deploy(name)
    val names = send("GET", s"$bursts?limit=2").json.hcursor.values.get.map(_.hcursor.get[String]("name"))
    assertEquals(names.toVector, Vector(Right("p3"), Right("p2")))
    assertEquals(send("GET", s"$bursts?skip=100000").body, "[]")
    Seq("limit=201", "limit=-1", "limit=x", "limit=99999999999", "skip=-1", "skip=").foreach: query =>
      refused(send("GET", s"$bursts?$query"), 400, query.takeWhile(_ != '='))
