package burst.controller.http

import burst.controller.deploy.Executables.elf
import burst.protocol.PackageId
import io.circe.Json

/** Versions of a definition, over the API. */
class VersionsSuite extends HttpSuite:
  override def settings = "burst.store.retention.versions = 3"

  private def put(name: String, bytes: Array[Byte], more: String = "") =
    val reply = send("PUT", s"$bursts/$name?overwrite=true", deployment(bytes, more))
    assertEquals(reply.status, 200, reply.body)
    reply

  private val libraries = Vector("2.11", "2.12", "2.13", "2.14")
  private def program(n: Int) = elf(Seq(s"GLIBC_${libraries(n)}"))

  private def versions(name: String) =
    send("GET", s"$bursts/$name/versions").json.hcursor.values.get.toVector
      .map(_.hcursor.get[String]("version").getOrElse(""))

  private def rollBack(name: String, body: String = "{}") =
    send("POST", s"$bursts/$name/rollback", Some(body))

  test("the last versions are listed without parameters, and each is shown as it was"):
    val first = put("listed", program(0), ""","config":{"memory":64},"parameters":{"a":1}""").json
    val second = put("listed", program(1), ""","parameters":{"b":2}""").json
    assertEquals(versions("listed"), Vector("0.0.2", "0.0.1"))
    val listed = send("GET", s"$bursts/listed/versions?limit=1&skip=1").json.hcursor.values.get.toVector
    assertEquals(
      listed,
      Vector(first.mapObject(_.remove("parameters").remove("environment").remove("secrets")))
    )
    assertEquals(send("GET", s"$bursts/listed/versions/0.0.1").json, first)
    assertEquals(send("GET", s"$bursts/listed/versions/0.0.2/").json, second)
    put("listed", program(2))
    put("listed", program(3))
    assertEquals(versions("listed"), Vector("0.0.4", "0.0.3", "0.0.2"))
    assertEquals(storage.packages.size(PackageId.of(program(0))), None, "its package was deleted with it")
    assert(storage.packages.size(PackageId.of(program(1))).isDefined)
    send("DELETE", s"$bursts/listed")
    Vector(1, 2, 3).foreach(n => assertEquals(storage.packages.size(PackageId.of(program(n))), None))

  test("a missing definition or version is 404, and a malformed version is 400"):
    put("there", program(0))
    refused(send("GET", s"$bursts/nobody/versions"), 404, "'nobody'")
    refused(send("GET", s"$bursts/nobody/versions/0.0.1"), 404, "definition 'nobody'")
    refused(send("GET", s"$bursts/there/versions/0.0.2"), 404, "version 0.0.2 of 'there'")
    Seq("1", "0.0.0", "0.0.-1", "1.0.1", "0.0.1234567890").foreach: version =>
      refused(send("GET", s"$bursts/there/versions/$version"), 400, "such as 0.0.3")
    refused(send("GET", s"$bursts/-a/versions"), 400, "A name")
    refused(send("PUT", s"$bursts/there/versions", Some("{}")), 405, "GET")

  test("a rollback creates a new version that is equal to an older one"):
    val first = put("back", program(0), ""","config":{"memory":64},"parameters":{"a":1}""").json
    put("back", program(1), ""","config":{"memory":128},"parameters":{}""")
    val third = rollBack("back")
    def same(json: Json) = json.mapObject(_.remove("version").remove("updated"))
    assertEquals(third.string("version"), "0.0.3")
    assertEquals(same(third.json), same(first))
    assertEquals(send("GET", s"$bursts/back").json, third.json)
    val fourth = rollBack("back", """{"version":"0.0.2"}""")
    assertEquals(fourth.string("version"), "0.0.4")
    assertEquals(fourth.json.hcursor.downField("config").get[Int]("memory"), Right(128))

  test("an impossible rollback is refused and changes nothing"):
    put("forward", program(0))
    refused(rollBack("forward"), 409, "before the current one")
    refused(rollBack("forward", """{"version":"0.0.7"}"""), 404, "0.0.7")
    refused(rollBack("forward", """{"version":7}"""), 400, "'version' must be a string")
    refused(rollBack("forward", """{"version":"7"}"""), 400, "'version' must be a version")
    refused(rollBack("forward", """{"to":"0.0.1"}"""), 400, "'to'")
    refused(rollBack("nobody"), 404, "'nobody'")
    assertEquals(versions("forward"), Vector("0.0.1"))

  test("a flare or a group has the version it names, or else the current one"):
    put("flared", program(0), ""","config":{"memory":64},"parameters":{"a":1}""")
    put("flared", program(1), ""","config":{"memory":128},"parameters":{}""")
    def asked(path: String, body: String) =
      assertEquals(send("POST", path, Some(body)).status, 202)
      service.last.get.getOrElse(fail("not submitted"))
    val old = asked(s"$bursts/flared", """{"size":1,"version":"0.0.1"}""")
    assertEquals(old.definition.version -> old.definition.packageId, "0.0.1" -> PackageId.of(program(0)))
    assertEquals(old.memory, 64)
    assertEquals(old.inputs.text.utf8String, """{"shared":{"a":1}}""")
    assertEquals(asked(s"$bursts/flared", """{"size":1}""").definition.version, "0.0.2")
    assertEquals(asked(s"$bursts/flared", """{"size":1,"version":null}""").definition.version, "0.0.2")
    val group = asked(groups, """{"definition":"flared","size":1,"version":"0.0.1"}""")
    assertEquals(group.definition.version -> group.memory, "0.0.1" -> 64)
    def not(path: String, body: String, status: Int, words: String*) =
      refused(send("POST", path, Some(body)), status, words*)
    not(s"$bursts/flared", """{"size":1,"version":"0.0.3"}""", 404, "version 0.0.3 of 'flared'")
    not(s"$bursts/flared", """{"size":1,"version":"two"}""", 400, "'version'")
    not(groups, """{"definition":"flared","size":1,"version":"0.0.3"}""", 404, "version 0.0.3")
    not(groups, """{"definition":"nobody","size":1,"version":"0.0.3"}""", 404, "'nobody'")

  test("older versions make room for what a namespace deploys"):
    val limit = 2 * program(0).length + 4
    val limits = s"""{"limits":{"definitionsSize":$limit}}"""
    val own = send("PUT", s"$admin/narrow", Some(limits), caller(admin)).string("auth")
    def one(name: String, n: Int) =
      send("PUT", s"$bursts/$name?overwrite=true", deployment(program(n)), auth = Some(own)).status
    def kept(name: String) = send("GET", s"$bursts/$name/versions", auth = Some(own)).json.asArray.map(_.size)
    assertEquals((one("a", 0), one("a", 1), kept("a")), (200, 200, Some(2)))
    assertEquals((one("b", 2), kept("a"), kept("b")), (200, Some(1), Some(1)))
