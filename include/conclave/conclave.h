#pragma once
// Everything a program needs to run a Mixture-of-Experts language model. A whole program, which the install test builds and runs:
//
//   #include <conclave/conclave.h>
//
//   #include <iostream>
//   #include <thread>
//
//   int main() try {
//     const auto engine = conclave::Engine::open({});  // the model built into the library
//     std::jthread loop([&](std::stop_token stop) { engine->run(stop); });
//     auto answer = engine->submit({.prompt = std::vector<conclave::ChatMessage>{{"user", "What is two and three?"}}});
//     if (auto* refused = std::get_if<conclave::Error>(&answer)) throw *refused;
//     auto& stream = *std::get<std::unique_ptr<conclave::TokenStream>>(answer);
//     auto event = stream.next();  // Delta, Delta, ..., Done
//     for (; auto* delta = std::get_if<conclave::Delta>(&event); event = stream.next()) std::cout << delta->text << std::flush;
//     std::cerr << "\n" << conclave::to_string(std::get<conclave::Done>(event).reason) << '\n';
//   } catch (const conclave::Error& error) {
//     std::cerr << error.what() << '\n';
//     return 1;
//   }
#include "conclave/engine.h"
#include "conclave/error.h"
#include "conclave/model_info.h"
#include "conclave/request.h"
#include "conclave/version.h"
