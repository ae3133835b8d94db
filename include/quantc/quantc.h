// quantc as a library: load a model, quantize, run and compile it. Everything that can go wrong
// comes back as a Diagnostic; nothing is printed and nothing is thrown. docs/cpp-api.md is the
// guide.
//
//   auto model = quantc::Model::load("model.onnx");
//   if (!model) { std::puts(model.diagnostic().message.c_str()); return 1; }
//   auto report = model->compile("out");
#pragma once

#include "quantc/array.h"
#include "quantc/compiled.h"
#include "quantc/diagnostic.h"
#include "quantc/interrupt.h"
#include "quantc/model.h"
#include "quantc/op.h"
#include "quantc/options.h"
#include "quantc/pass.h"
#include "quantc/reports.h"
#include "quantc/rules.h"
#include "quantc/version.h"
